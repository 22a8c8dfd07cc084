/* servers.mjs -- the site over HTTP on this machine: by `vitrine serve`, or by a plain
 * server of files, as any host is, under a path of its own. */
import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** @typedef {{ address: string, port: number, close: () => Promise<void> }} Server  `address` ends in "/" */

/** `vitrine serve`. @param {string} folder @returns {Promise<Server>} */
export function serveByVitrine(folder) {
  const command = process.env['VITRINE'] ?? join(root, 'build/vitrine');
  const child = spawn(command, ['serve', folder, '--port', '0', '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('exit', done));
  let words = '';
  child.stderr.on('data', (text) => { words += text; });
  return new Promise((done, refuse) => {
    let line = '';
    child.on('error', refuse);
    child.on('exit', (code) => refuse(new Error(`vitrine serve ended with ${code}: ${words}`)));
    child.stdout.on('data', (text) => {
      line += text;
      if (!line.includes('\n')) return;
      const { address, port } = JSON.parse(line);
      done({ address, port, close: async () => { child.kill('SIGTERM'); await ended; } });
    });
  });
}

/** @type {Readonly<Record<string, string>>} */
const types = {
  '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.pdf': 'application/pdf',
};

/**
 * A plain server of files, that sends no headers but the type.
 * @param {string} folder @param {string} [path] where the site lies: begins and ends with "/"
 * @returns {Promise<Server>}
 */
export function serveFiles(folder, path = '/') {
  const server = createServer((request, answer) => {
    const asked = decodeURIComponent((request.url ?? '/').split(/[?#]/)[0] ?? '/');
    const inside = asked.startsWith(path) ? normalize(`/${asked.slice(path.length)}`) : null;
    const file = inside === null ? null : join(folder, inside.endsWith('/') ? `${inside}index.html` : inside);
    try {
      if (file === null || !statSync(file).isFile()) throw new Error('no file');
      answer.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
    } catch {
      answer.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
    }
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => {
    const at = server.address();
    const port = at !== null && typeof at === 'object' ? at.port : 0;
    done({
      port, address: `http://127.0.0.1:${port}${path}`,
      close: () => new Promise((closed) => { server.closeAllConnections(); server.close(() => closed()); }),
    });
  }));
}
