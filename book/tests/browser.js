// Draws ten digits on the page, as a person would, and writes down what it says.

const said = [];
const started = performance.now();
let answer;
watched((probabilities, milliseconds) => answer?.({ probabilities, milliseconds }));
const canvas = document.querySelector(".drawing");

const point = (type, [x, y]) => {
    const box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + 40 + 2 * x, clientY: box.top + 40 + 2 * y, bubbles: true, pointerId: 1 };
    (type === "pointerup" ? window : canvas).dispatchEvent(new PointerEvent(type, at));
};

const between = ([ax, ay], [bx, by]) => [...Array(8).keys()].map((k) => [ax + ((bx - ax) * (k + 1)) / 8, ay + ((by - ay) * (k + 1)) / 8]);

(async () => {
    try {
        for (const strokes of drawn) {
            document.querySelector("#draw button").click();
            let last;
            for (const stroke of strokes) {
                const told = new Promise((resolve) => (answer = resolve));
                point("pointerdown", stroke[0]);
                stroke.slice(1).forEach((end, k) => between(stroke[k], end).forEach((it) => point("pointermove", it)));
                point("pointerup", stroke.at(-1));
                last = await told;
            }
            if (!said.length) said.push(`ms to the first answer: ${(performance.now() - started).toFixed(0)}`);
            said.push(`read ${document.querySelector(".answer").textContent.replace("a ", "")}`, `ms ${last.milliseconds.toFixed(2)}`);
        }
        const network = await digits;
        for (const image of images) {
            const words = new Uint32Array(network.of_image(new Float32Array(image)).buffer);
            said.push("answer " + [...words].map((word) => word.toString(16).padStart(8, "0")).join(" "));
        }
    } catch (error) {
        said.push(`failed: ${error}`);
    }
    const shown = document.createElement("pre");
    shown.id = "said";
    shown.textContent = said.join("\n");
    document.body.append(shown);
})();
