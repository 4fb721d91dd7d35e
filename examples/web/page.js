// The page: pictures, and what the reader's hand does. All numbers come from the library, whose functions `src/page.rs` describes.
'use strict'

const $ = (selector, within = document) => within.querySelector(selector)
let library = null

// ---- The library ----

const numbers = (count) => new Float64Array(library.memory.buffer, library.numbers(), count)
const text = (length) => new TextDecoder().decode(new Uint8Array(library.memory.buffer, library.text(), length))

/** Milliseconds of the last calls of each function. */
const times = {}
const median = (name) => times[name].toSorted((a, b) => a - b)[times[name].length >> 1]

/** What is thrown once the library has stopped. */
class Stopped extends Error {}

/** Calls a function of the library with numbers in its array. After a panic all stands still, and the message is shown. */
function call(name, given = [], ...rest) {
    if (!library) throw new Stopped()
    const begin = performance.now()
    try {
        numbers(given.length).set(given)
        const result = library[name](...rest)
        times[name] = [...(times[name] ?? []).slice(-99), performance.now() - begin]
        return result
    } catch (error) {
        const message = text(library.failure()) || String(error)
        library = null
        fail(message)
        throw new Stopped(message)
    }
}

function fail(message) {
    $('#failure pre').textContent = message
    $('#failure').style.display = 'block'
}

async function begin() {
    const [packed, begun] = [Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0)), performance.now()]
    const code = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
    library = (await WebAssembly.instantiate(code, {})).instance.exports
    $('#failure').style.display = 'none'
    call('start')
    for (const part of parts) part.begin()
    const [size, zipped] = [code.byteLength, packed.length].map((bytes) => (bytes / 1e6).toFixed(1))
    $('#start').textContent = `${size} MB of code, ${zipped} MB compressed; ready after ${Math.round(performance.now() - begun)} ms.`
}

// ---- Canvases ----

const colors = {}
function readColors() {
    const [style, names] = [getComputedStyle(document.documentElement), 'ink quiet line card main band warm good goodband dim'.split(' ')]
    for (const name of names) colors[name] = style.getPropertyValue('--' + name)
}

/** A canvas with coordinates: `view` is left, right, bottom, top. */
class Picture {
    constructor(section, view, aspect) {
        const canvas = $('canvas', section)
        Object.assign(this, { section, view, aspect, canvas, output: $('output', section), pen: canvas.getContext('2d'), visible: true })
        new ResizeObserver(() => this.resize()).observe(canvas)
        new IntersectionObserver((seen) => (this.visible = seen.at(-1).isIntersecting)).observe(canvas)
        this.resize()
        this.listen()
    }
    resize() {
        const scale = window.devicePixelRatio || 1
        this.width = this.canvas.clientWidth
        this.height = Math.round(this.width * Math.max(this.aspect, Math.min(0.85, 300 / this.width)))
        this.canvas.style.height = this.height + 'px'
        Object.assign(this.canvas, { width: this.width * scale, height: this.height * scale })
        this.pen.setTransform(scale, 0, 0, scale, 0, 0)
        this.stale = true
    }
    x(value) { return ((value - this.view[0]) / (this.view[1] - this.view[0])) * this.width }
    y(value) { return ((this.view[3] - value) / (this.view[3] - this.view[2])) * this.height }
    /** Where an event is: coordinates, and pixels. */
    place(event) {
        const box = this.canvas.getBoundingClientRect()
        const [px, py] = [event.clientX - box.left, event.clientY - box.top]
        const [left, right, bottom, top] = this.view
        return { px, py, x: left + (px / this.width) * (right - left), y: top - (py / this.height) * (top - bottom) }
    }
    /** Draws a shape with these settings of the pen. */
    shape(settings, path) {
        Object.assign(this.pen, { fillStyle: 'transparent', strokeStyle: 'transparent', lineJoin: 'round' }, settings)
        this.pen.beginPath()
        path()
        this.pen.fill()
        this.pen.stroke()
    }
    trace(points, settings) { this.shape(settings, () => points.forEach(([x, y]) => this.pen.lineTo(x, y))) }
    line(points, color, width = 2) { this.trace(points, { strokeStyle: color, lineWidth: width }) }
    area(points, color) { this.trace(points, { fillStyle: color }) }
    disc(x, y, radius, fill, edge = 'transparent') {
        this.shape({ fillStyle: fill, strokeStyle: edge, lineWidth: 2 }, () => this.pen.arc(x, y, radius, 0, 2 * Math.PI))
    }
    label(words, x, y) {
        Object.assign(this.pen, { fillStyle: colors.quiet, font: '12px system-ui, sans-serif' })
        this.pen.fillText(words, x, y)
    }
    /** `grab(place, radius)` returns what a press holds, or nothing: then a finger scrolls the page as ever. */
    listen() {
        const [canvas, radius] = [this.canvas, (event) => (event.pointerType === 'mouse' ? 14 : 26)]
        let down = null
        const on = (name, act, options) => canvas.addEventListener(name, (event) => library && act(event, this.place(event)), options)
        on('touchstart', (event) => !this.sideways && this.grab(this.place(event.touches[0]), 26) && event.preventDefault(), { passive: false })
        on('pointerdown', (event, place) => {
            [down, this.held] = [place, this.grab(place, radius(event))]
            if (event.isTrusted) canvas.setPointerCapture(event.pointerId)
        })
        on('pointermove', (event, place) => {
            if (this.held) this.drag(this.held, place)
            else canvas.style.cursor = this.grab(place, radius(event)) ? 'grab' : 'default'
        })
        const up = (event, place) => {
            const still = down && Math.hypot(place.px - down.px, place.py - down.py) < 8
            if (this.held) this.drop(this.held, place)
            else if (still && event.type === 'pointerup') this.tap(place)
            this.held = down = null
        }
        on('pointerup', up)
        on('pointercancel', up)
        on('keydown', (event) => this.key(event.key) && event.preventDefault())
    }
    drop() {}
    tap() {}
}
const arrow = (key) => ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] })[key]

/** The two texts beside a picture: what `describe` says of part `which()` and of the next one. */
function showCode(picture, which) {
    const code = $('.code', picture.section)
    code.innerHTML = '<div class="tools"><button>Rust source</button><button>Its gradient</button><span class="quiet"></span></div><pre></pre>'
    const buttons = code.querySelectorAll('button')
    const show = (k) => {
        const words = text(call('describe', [], which() + k))
        $('pre', code).textContent = words
        $('span', code).textContent = k ? `${words.trim().split('\n').length} lines, printed by the library` : ''
        buttons.forEach((button, i) => button.setAttribute('aria-pressed', i === k))
    }
    buttons.forEach((button, k) => button.addEventListener('click', () => show(k)))
    show(0)
}

// ---- A fit to drag ----

class Fit extends Picture {
    points = this.wave(0)
    begin() { (this.still = 0), showCode(this, () => 0) }
    wave(seed) {
        const noise = (k) => 0.09 * Math.sin(12.9 * (k + 17.3 * seed) + 4.1 * k * k)
        const [a, b, c] = [1.5 + 0.4 * Math.sin(seed * 2.1), seed * 1.3, 0.9 - 0.2 * Math.cos(seed)]
        const at = (x, k) => [x, c * Math.sin(a * x + b) * Math.cos(0.35 * x) + noise(k)]
        return Array.from({ length: 13 }, (_, k) => at(-2.7 + 0.45 * k, k))
    }
    far() { return 0.8 * 40 ** (1 - $('#far').value / 100) }
    grab({ px, py }, radius) {
        const far = ([x, y]) => Math.hypot(this.x(x) - px, this.y(y) - py)
        const nearest = [...this.points].sort((a, b) => far(a) - far(b))[0]
        return nearest && far(nearest) < radius ? nearest : null
    }
    drag(point, { x, y }) { [point[0], point[1], this.still] = [x, y, 0] }
    drop(point, { x, y }) {
        const [left, right, bottom, top] = this.view
        if (x < left || x > right || y < bottom || y > top) this.points = this.points.filter((other) => other !== point)
        this.still = 0
    }
    tap({ x, y }) {
        if (this.points.length < 24) this.points.push([x, y])
        this.still = 0
    }
    key(key) {
        const [dx, dy] = arrow(key) ?? [0, 0]
        if (key === 'Enter') this.chosen = ((this.chosen ?? -1) + 1) % this.points.length
        const point = this.points[(this.chosen ??= 0)]
        if (point) this.drag(point, { x: point[0] + 0.05 * dx, y: point[1] + 0.05 * dy })
        return key === 'Enter' || arrow(key)
    }
    /** Until nothing has changed for a second. */
    frame() {
        if (this.still > 60 && !this.stale) return
        call('fit', [this.far(), ...this.points.flat()], this.points.length, 2)
        const [loss, ...rest] = numbers(243)
        this.still = Math.abs(loss - this.loss) < 1e-7 ? this.still + 1 : 0
        Object.assign(this, { loss, stale: false })
        this.draw(rest.slice(0, 121), rest.slice(121))
        const far = `points more than ${this.far().toFixed(1)} standard deviations off count less`
        this.output.textContent = `loss ${loss.toFixed(3)}; ${far}; ${median('fit').toFixed(1)} ms a frame`
    }
    draw(curve, deviation) {
        this.pen.clearRect(0, 0, this.width, this.height)
        const side = (sign) => curve.map((y, k) => [this.x(k / 20 - 3), this.y(y + sign * deviation[k])])
        this.line([[0, this.y(0)], [this.width, this.y(0)]], colors.line, 1)
        this.area([...side(2), ...side(-2).reverse()], colors.band)
        this.line(side(0), colors.main, 2.5)
        this.points.forEach(([x, y], k) => {
            const off = (y - curve[Math.min(120, Math.max(0, Math.round((x + 3) * 20)))]) / 0.1 / this.far()
            const focus = this.points[k] === this.held || (k === this.chosen && document.activeElement === this.canvas)
            this.pen.globalAlpha = 0.25 + 0.75 / (1 + off * off)
            this.disc(this.x(x), this.y(y), focus ? 9 : 6, colors.warm, colors.card)
        })
        this.pen.globalAlpha = 1
    }
}

// ---- A pole that stands up ----

class Pole extends Picture {
    paused = matchMedia('(prefers-reduced-motion: reduce)').matches
    begin() {
        Object.assign(this, { ahead: 0, last: 0 })
        $('#pause').setAttribute('aria-pressed', this.paused)
        this.tick()
        showCode(this, () => 2)
    }
    /** A twentieth of a second of the world. */
    tick() {
        call('plan', [], 2)
        this.planned = numbers(205).slice()
        call('run', this.pull())
        this.states = numbers(12).slice()
        this.stale = true
    }
    bob(state) { return [state[0] + Math.sin(state[1]), Math.cos(state[1])] }
    pull() {
        if (!this.held) return [0, 0]
        const [x, y] = this.bob(this.states.slice(8))
        const [dx, dy] = [this.hand.x - x, this.hand.y - y]
        const stiff = Math.min(20, 16 / (Math.hypot(dx, dy) + 1e-9))
        return [stiff * dx, stiff * dy]
    }
    grab(place, radius) {
        const [x, y] = this.bob((this.shown ??= this.states.slice(0, 4)))
        this.hand = place
        return Math.hypot(this.x(x) - place.px, this.y(y) - place.py) < radius + 10 ? this : null
    }
    drag(_, place) { this.hand = place }
    key(key) { return arrow(key)?.[0] && (this.kick(arrow(key)[0]), true) }
    /** To that side as one sees it: a pole that hangs turns the other way. */
    kick(side) { call('kick', [], 4 * side * (Math.cos(this.states[9]) < 0 ? -1 : 1)) }
    frame(now) {
        if (!this.paused) this.ahead += Math.min(0.1, (now - this.last) / 1000)
        this.last = now
        for (; this.ahead >= 0.05; this.ahead -= 0.05) this.tick()
        if (this.paused && !this.stale) return
        this.stale = false
        const [part, share] = [Math.floor(this.ahead / 0.025), (this.ahead / 0.025) % 1]
        const state = (k) => this.states[4 * part + k] * (1 - share) + this.states[4 * part + 4 + k] * share
        this.shown = [0, 1, 2, 3].map(state)
        this.draw(this.shown)
        const busy = (median('plan') + median('run')).toFixed(1)
        this.output.textContent = `cost of the plan ${this.planned[0].toFixed(2)}; ${busy} ms for a plan, 20 times in a second`
    }
    draw(state) {
        this.pen.clearRect(0, 0, this.width, this.height)
        const [scale, rail, left] = [this.x(1) - this.x(0), this.y(0), this.x(-1.8)]
        this.line([[left, rail], [this.x(1.8), rail]], colors.line, 4)
        // Where the plan leads, and its forces.
        const [bar, base] = [(3.6 * scale) / 40, this.height - 24]
        for (let k = 1; k <= 40; k++) {
            const [[x, y], force] = [this.bob(this.planned.slice(41 + 4 * k)), (this.planned[k] / 30) * 18]
            this.pen.globalAlpha = 1 - k / 45
            this.disc(this.x(x), this.y(y), 2.2, colors.main)
            this.pen.fillRect(left + (k - 1) * bar, Math.min(base, base - force), bar - 1, Math.max(1, Math.abs(force)))
        }
        this.pen.globalAlpha = 1
        this.label('planned forces', left, this.height - 46)
        const [[x, y], cart] = [this.bob(state), this.x(state[0])]
        this.line([[cart - 0.2 * scale, rail], [cart + 0.2 * scale, rail]], colors.ink, 0.16 * scale)
        this.line([[cart, rail], [this.x(x), this.y(y)]], colors.ink, 4)
        if (this.held) this.line([[this.x(x), this.y(y)], [this.hand.px, this.hand.py]], colors.warm, 2)
        this.disc(this.x(x), this.y(y), Math.max(9, 0.09 * scale), colors.warm, colors.card)
        this.disc(cart, rail, 3.5, colors.card)
    }
}

// ---- Bounds with proof ----

class Bounds extends Picture {
    ends = [-2.9, 2.4]
    sideways = true // A finger that moves up or down scrolls the page.
    begin() {
        showCode(this, () => 4 + 2 * $('#function').value)
        this.choose()
    }
    boxes() { return Math.round(256 ** ($('#boxes').value / 100)) }
    choose() {
        $('.code button', this.section).click()
        call('draw', this.view.slice(0, 2), +$('#function').value)
        this.drawn = [[...numbers(241)], [...numbers(482)].slice(241)]
        this.ranges = this.drawn.map((line) => {
            const [low, high] = [Math.min(...line), Math.max(...line)]
            return [low - 0.35 * (high - low), high + 0.2 * (high - low)]
        })
        this.stale = true
    }
    grab({ px, x }, radius) {
        const far = this.ends.map((end) => Math.abs(this.x(end) - px))
        if (Math.min(...far) < radius) return { end: far[0] < far[1] ? 0 : 1 }
        return this.ends[0] < x && x < this.ends[1] && { at: x, ends: [...this.ends] }
    }
    drag({ end, at, ends }, { x }) {
        const [left, right, [from, to]] = [this.view[0] + 0.1, this.view[1] - 0.1, this.ends]
        const within = (low, value, high) => Math.max(low, Math.min(high, value))
        if (ends) this.ends = ends.map((old) => old + within(left - ends[0], x - at, right - ends[1]))
        else this.ends = end ? [from, within(from + 0.05, x, right)] : [within(left, x, to - 0.05), to]
        this.stale = true
    }
    key(key) {
        const [dx, dy] = arrow(key) ?? [0, 0]
        if (dx) this.drag({ at: 0, ends: this.ends }, { x: 0.05 * dx })
        else if (dy) this.drag({ end: 1 }, { x: this.ends[1] + 0.05 * dy })
        return arrow(key)
    }
    frame() {
        if (this.searching) this.searching = ($('#boxes').value = +$('#boxes').value + 1) < 100
        if (!this.stale && !this.searching) return
        const [name, taylor] = [+$('#function').value, $('#taylor').getAttribute('aria-pressed') === 'true']
        const count = call('search', this.ends, name, this.boxes(), taylor)
        const [low, high, ...rest] = numbers(2 + 7 * count)
        const found = Array.from({ length: count }, (_, k) => rest.slice(7 * k, 7 * k + 7))
        this.stale = false
        this.searching &&= count >= this.boxes() // One that is done uses fewer boxes than it may.
        this.draw(found, high)
        const open = found.filter((box) => box[6] === 0).length
        const least = `the least value is between ${low.toFixed(12)} and ${high.toFixed(12)}`
        this.output.textContent = `${least}; ${count} boxes, ${open} open; ${median('search').toFixed(1)} ms`
    }
    draw(found, least) {
        this.pen.clearRect(0, 0, this.width, this.height)
        const middle = this.height * 0.62
        const places = [[8, middle - 6], [middle + 6, this.height - 8]]
        const y = (value, k) => {
            const [[top, bottom], [low, high]] = [places[k], this.ranges[k]]
            return Math.min(bottom, Math.max(top, top + ((high - value) / (high - low)) * (bottom - top)))
        }
        for (const at of [middle, y(0, 1)]) this.line([[0, at], [this.width, at]], colors.line, 1)
        for (const [from, to, low, high, falls, rises, state] of found) {
            const [fill, edge] = [[colors.band, colors.main], [colors.dim, colors.quiet], [colors.goodband, colors.good]][state]
            for (const [k, bottom, top] of [[0, low, high], [1, falls, rises]]) {
                const box = [this.x(from), y(top, k), this.x(to) - this.x(from), Math.max(1, y(bottom, k) - y(top, k))]
                const settings = { fillStyle: fill, strokeStyle: edge, lineWidth: box[2] > 4 ? 1 : 0.4 }
                this.shape(settings, () => this.pen.rect(...box))
            }
        }
        this.drawn.forEach((line, k) => this.line(line.map((value, i) => [(i / 240) * this.width, y(value, k)]), colors.ink, 1.8))
        const [from, to] = this.ends.map((end) => this.x(end))
        this.pen.setLineDash([4, 4])
        this.line([[from, y(least, 0)], [to, y(least, 0)]], colors.warm, 1.5)
        this.pen.setLineDash([])
        for (const end of [from, to]) {
            this.line([[end, 0], [end, this.height]], colors.warm, 1.5)
            this.disc(end, middle, 8, colors.warm, colors.card)
        }
        this.label('f(x)', 8, 20)
        this.label("f'(x)", 8, middle + 20)
    }
}

// ---- The page ----

readColors()
const fit = new Fit($('#fit'), [-3, 3, -1.6, 1.6], 0.5)
const pole = new Pole($('#pole'), [-2.6, 2.6, -1.5, 1.25], 0.5)
const bounds = new Bounds($('#bounds'), [-3.6, 3.6, 0, 1], 0.62)
const parts = [fit, pole, bounds]

function frame(now) {
    requestAnimationFrame(frame)
    for (const part of parts) if (library && part.visible) part.frame(now)
}

const repaint = () => (readColors(), parts.forEach((part) => (part.stale = true)))
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint)
// The message of a panic is on the page already.
const wrong = (event, error, message) => (error instanceof Stopped ? event.preventDefault() : fail(message))
addEventListener('error', (event) => wrong(event, event.error, event.message))
addEventListener('unhandledrejection', (event) => wrong(event, event.reason, String(event.reason)))

const on = (id, event, act) => $(id).addEventListener(event, act)
const toggle = (id) => $(id).setAttribute('aria-pressed', $(id).getAttribute('aria-pressed') !== 'true')
on('#far', 'input', () => (fit.still = 0))
on('#wave', 'click', () => Object.assign(fit, { points: fit.wave((fit.seed = (fit.seed ?? 0) + 1)), still: 0 }))
on('#forget', 'click', () => (call('forget'), (fit.still = 0)))
on('#left', 'click', () => pole.kick(-1))
on('#right', 'click', () => pole.kick(1))
on('#hang', 'click', () => (call('hang'), pole.tick()))
on('#pause', 'click', () => (toggle('#pause'), (pole.paused = !pole.paused)))
on('#function', 'change', () => bounds.choose())
on('#boxes', 'input', () => Object.assign(bounds, { stale: true, searching: false }))
on('#taylor', 'click', () => (toggle('#taylor'), (bounds.stale = true)))
on('#search', 'click', () => (($('#boxes').value = 0), (bounds.searching = true)))
on('#failure button', 'click', begin)
begin()
requestAnimationFrame(frame)
