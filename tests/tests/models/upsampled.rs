//! Images made smaller and larger again, with what was seen on the way added: segmentation.

use paddle::attribute::network;

#[network]
pub mod segmentation {
    fn block(x: _, filters: usize) -> _ {
        conv2d(x, filters, 3, padding = same, act = relu)
    }

    /// Which of three kinds each element is.
    pub fn cost(image: Tensor<f32, _, 1, 6, 8>, kind: Tensor<i64, _, 6, 8, 1>) -> Tensor<f32> {
        let fine = block(image, 4, param = "fine");
        let coarse = block(pool2d(fine, 2), 4, param = "coarse");
        let back = interpolate(coarse, scale = 2, mode = bilinear) + fine;
        let wide = interpolate(interpolate(back, [3, 5], mode = bilinear, align_corners = true), [6, 8]);
        let logits = transpose(conv2d(concat([back, wide]), 3, 1), [0, 2, 3, 1]);
        mean(softmax_with_cross_entropy(logits, kind))
    }

    /// Of images of any size.
    pub fn blurred(image: Tensor<f32, _, 2, H, W>) -> Tensor<f32, _, 2, { 2 * H }, { 2 * W }> {
        interpolate(interpolate(image, scale = 4), scale = 0.5, mode = bilinear)
    }

    /// Brought to the size of another image.
    pub fn beside(image: Tensor<f32, _, 2, H, W>, other: Tensor<f32, _, 1, G, K>) -> Tensor<f32, _, 5, G, K> {
        concat([interpolate(image, [G, K], mode = bilinear), other, interpolate(image, [G, K])])
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let [cost, blurred] = [crate::model(segmentation::cost()), crate::model(segmentation::blurred())];
    vec![cost, blurred, crate::model(segmentation::beside())]
}
