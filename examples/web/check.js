
// ---- The check: `check` appends this to the page, and shows it in a frame, to which a summary is sent. ----

// A browser without a window draws when it likes, and its virtual time does not wait for that: frames are timers here.
globalThis.requestAnimationFrame = (act) => setTimeout(() => act(performance.now()), 16)

const said = []
const expect = (what, holds) => said.push(`${holds ? 'ok' : 'FAILED'}: ${what}`)
const frames = async (count) => { for (let k = 0; k < count; k++) await new Promise(requestAnimationFrame) }
const until = async (holds) => { for (let k = 0; k < 900 && !holds(); k++) await frames(1) }

function pointer(picture, type, [px, py]) {
    const box = picture.canvas.getBoundingClientRect()
    const at = { clientX: box.left + px, clientY: box.top + py, pointerId: 1, pointerType: 'mouse', bubbles: true, cancelable: true }
    picture.canvas.dispatchEvent(new PointerEvent(type, at))
}

/** A press that goes from one place to another one. */
async function dragged(picture, from, to) {
    pointer(picture, 'pointerdown', from)
    for (let k = 1; k <= 5; k++) {
        pointer(picture, 'pointermove', from.map((start, i) => start + ((to[i] - start) * k) / 5))
        await frames(1)
    }
    pointer(picture, 'pointerup', to)
}

async function checkFit() {
    const height = (k) => (call('fit', [fit.far(), ...fit.points.flat()], fit.points.length, 0), numbers(122)[1 + k])
    const pixels = ([x, y]) => [fit.x(x), fit.y(y)]
    await until(() => fit.still > 60)
    expect('the fit converges', fit.still > 60)
    const [point, count] = [fit.points[4], fit.points.length]
    const place = Math.round((point[0] + 3) * 20)
    const before = height(place)
    await dragged(fit, pixels(point), pixels([point[0], before + 0.35]))
    await until(() => fit.still > 60)
    const after = height(place)
    expect(`the curve follows a point that is dragged, from ${before.toFixed(2)} to ${after.toFixed(2)}`, after - before > 0.1)
    await dragged(fit, [8, 8], [8, 8])
    expect('a tap adds a point', fit.points.length === count + 1)
    await dragged(fit, [8, 8], [8, -40])
    expect('a point that is dragged out is gone', fit.points.length === count)
}

async function checkPole() {
    const stands = () => Math.cos(pole.states[9]) > 0.999 && Math.abs(pole.states[11]) < 0.05
    await until(stands)
    expect('the pole swings up', stands())
    pole.section.querySelector('#right').click()
    await until(() => Math.cos(pole.states[9]) < 0.9)
    expect('a kick moves it', !stands())
    await until(stands)
    expect('it stands again', stands())
    const bob = pole.bob(pole.shown)
    const from = [pole.x(bob[0]), pole.y(bob[1])]
    pointer(pole, 'pointerdown', from)
    pointer(pole, 'pointermove', [from[0] + 150, from[1] + 60])
    await until(() => !stands())
    expect('a hand pulls it', !stands())
    pointer(pole, 'pointerup', from)
    await until(stands)
    expect('and it stands again', stands())
}

async function checkBounds() {
    for (const name of ['0', '1', '2']) {
        $('#function').value = name
        $('#function').dispatchEvent(new Event('change'))
        const middle = bounds.height * 0.62
        await dragged(bounds, [bounds.x(bounds.ends[1]), middle], [bounds.x(3.1), middle])
        expect(`function ${name}: an end is dragged to ${bounds.ends[1].toFixed(2)}`, Math.abs(bounds.ends[1] - 3.1) < 0.01)
        $('#search').click()
        await until(() => bounds.searching === false)
        const [, low, high] = bounds.output.textContent.match(/between (\S+) and (\S+);/).map(Number)
        const inside = bounds.drawn[0].filter((_, k) => -3.6 + 0.03 * k > bounds.ends[0] && -3.6 + 0.03 * k < bounds.ends[1])
        expect(`function ${name}: least value from ${low} to ${high}`, low <= high && high - low < 1e-6 && low <= Math.min(...inside))
        $('#taylor').click()
    }
}

async function checkPage() {
    await until(() => library && pole.states)
    for (const [part, act] of [[fit, checkFit], [pole, checkPole], [bounds, checkBounds]]) {
        for (const other of parts) other.visible = other === part
        const [source, gradient] = part.section.querySelectorAll('.code button')
        gradient.click()
        expect(`${part.section.id}: the gradient is printed`, $('pre', part.section).textContent.startsWith('program('))
        source.click()
        expect(`${part.section.id}: the source is shown`, $('pre', part.section).textContent.includes('<T: BaseTensor>'))
        await act()
    }
    const [wide, there] = [document.documentElement.scrollWidth, innerWidth]
    expect(`the page of width ${wide} fits in ${there} pixels`, wide <= there)
    try { call('draw', [-1, 1], 99) } catch { /* shown */ }
    expect('a panic is shown', $('#failure').offsetHeight > 0 && $('#failure pre').textContent.includes('index out of bounds'))
    $('#failure button').click()
    await until(() => library)
    expect('the library starts again', library && $('#failure').offsetHeight === 0)
}

checkPage().catch((error) => expect(error.stack, false)).then(() => parent.postMessage([...said, 'checked', ''].join('\n'), '*'))
