// wasi.mjs -- runs a test program for WebAssembly in Node: wasi.mjs PROGRAM.wasm
//
// What the program may ask of its system is WASI's: its output, its environment, no files.
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const path = process.argv[2];
const wasi = new WASI({ version: 'preview1', args: [path], env: process.env, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(path));
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
process.exit(wasi.start(instance));
