// The canvas on which one draws, and a bar for each digit.

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

const digits = wasm_bindgen({ module_or_path: bytes(draw.program) })
    .then(() => new wasm_bindgen.Digits(bytes(draw.parameters)));

/** Shows the canvas in an element. `answered` is called with the ten probabilities and the milliseconds that they took. */
function drawADigit(place, answered = () => {}) {
    place.innerHTML = `
        <canvas width="280" height="280" class="drawing" aria-label="draw a digit here"></canvas>
        <div class="bars">${[...Array(10).keys()].map((digit) => `<div class="bar"><b>${digit}</b><i></i><span></span></div>`).join("")}</div>
        <p><button type="button">clear</button> <span class="answer"></span></p>`;
    const canvas = place.querySelector("canvas");
    const pen = canvas.getContext("2d");
    pen.lineWidth = 18;
    pen.lineCap = pen.lineJoin = "round";
    pen.strokeStyle = "#24248f";
    const bars = [...place.querySelectorAll(".bar")];
    const answer = place.querySelector(".answer");
    let points = [];
    let drawing = false;

    const at = (event) => {
        const box = canvas.getBoundingClientRect();
        return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
    };
    const show = (probabilities) => {
        const best = probabilities.indexOf(Math.max(...probabilities));
        bars.forEach((bar, digit) => {
            bar.classList.toggle("best", digit === best);
            bar.querySelector("i").style.width = `${160 * probabilities[digit]}px`;
            bar.querySelector("span").textContent = `${(100 * probabilities[digit]).toFixed(1)} %`;
        });
        answer.textContent = `a ${best}`;
    };
    const ask = async () => {
        try {
            const network = await digits;
            const before = performance.now();
            const probabilities = [...network.of_strokes(new Float32Array(points))];
            show(probabilities);
            answered(probabilities, performance.now() - before);
        } catch (error) {
            answer.textContent = `this browser cannot run the network: ${error}`;
        }
    };
    canvas.addEventListener("pointerdown", (event) => {
        drawing = true;
        points.push(...at(event));
        pen.beginPath();
        pen.moveTo(...at(event));
        pen.lineTo(...at(event));
        pen.stroke();
        event.preventDefault();
    });
    canvas.addEventListener("pointermove", (event) => {
        if (!drawing) return;
        points.push(...at(event));
        pen.lineTo(...at(event));
        pen.stroke();
        event.preventDefault();
    });
    // Outside of the canvas, too.
    window.addEventListener("pointerup", () => {
        if (!drawing) return;
        drawing = false;
        points.push(NaN, NaN);
        ask();
    });
    place.querySelector("button").addEventListener("click", () => {
        points = [];
        pen.clearRect(0, 0, canvas.width, canvas.height);
        bars.forEach((bar) => {
            bar.classList.remove("best");
            bar.querySelector("i").style.width = "0";
            bar.querySelector("span").textContent = "";
        });
        answer.textContent = "";
    });
}
