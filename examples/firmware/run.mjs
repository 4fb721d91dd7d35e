// The filter as a WebAssembly module: runs a log of `simulate` again, and compares the bits.
//
//     node run.mjs MODULE.wasm LOG [double]
import { readFileSync } from 'node:fs'

const [module, path, double] = process.argv.slice(2)
const Numbers = double ? Float64Array : Float32Array
const { instance } = await WebAssembly.instantiate(readFileSync(module), {})
const { memory, input, start, predict, update_position, update_field, state, covariance } = instance.exports
const bytes = readFileSync(path)
const log = new Numbers(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
const at = (address, n) => new Numbers(memory.buffer, address, n)
const give = (numbers) => at(input(), 31).set(numbers)
const steps = [predict, update_position, update_field]

let [apart, bits] = [0, 0]
const compare = (found, expected) => {
    found.forEach((x, i) => {
        bits += Object.is(x, expected[i]) ? 0 : 1
        const difference = Math.abs(x - expected[i])
        apart = difference <= apart ? apart : difference
    })
}

give(log.subarray(0, 31))
start()
const records = (log.length - 31 - 225) / 24
const begin = performance.now()
for (let k = 0; k < records; k++) {
    const record = log.subarray(31 + 24 * k, 31 + 24 * (k + 1))
    give(record.subarray(1, 8))
    steps[record[0]]()
    compare(at(state(), 16), record.subarray(8))
}
const micros = (1000 * (performance.now() - begin)) / records
compare(at(covariance(), 225), log.subarray(31 + 24 * records))
const differ = `${bits} numbers have other bits, and differ by at most ${apart}`
console.log(`wasm: ${records} steps of ${micros.toFixed(1)} us; ${differ}`)
process.exit(apart <= 1e-3 ? 0 : 1)
