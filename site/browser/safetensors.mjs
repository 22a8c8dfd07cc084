/* safetensors.mjs -- the doubles of a safetensors file, by name. */

/** @param {Buffer} file @returns {Map<string, number[]>} */
export function tensorsIn(file) {
  const size = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + size));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (entry.dtype !== 'F64') continue;
    const [from, to] = entry.data_offsets;
    tensors.set(name, Array.from({ length: (to - from) / 8 }, (_, k) => file.readDoubleLE(8 + size + from + 8 * k)));
  }
  return tensors;
}
