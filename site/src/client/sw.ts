/* sw.ts -- the offline worker: a copy of the site, by content.
 *
 * At install every file of the site is fetched (those whose hash is known from
 * the copy before are taken from it).  At a request the copy answers first: it
 * is whole and of one build.  Data of models is asked from the network first and
 * kept when it was loaded once.  No imports: it is a script of its own.
 */
interface WorkerScope {
  readonly registration: { readonly scope: string };
  addEventListener(type: 'install' | 'activate', listener: (event: { waitUntil(work: Promise<unknown>): void }) => void): void;
  addEventListener(type: 'fetch', listener: (event: { readonly request: Request; respondWith(answer: Promise<Response>): void }) => void): void;
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
}
const worker = globalThis as unknown as WorkerScope;

/** file -> hash of its content; tools/site puts the list here. */
const files: Readonly<Record<string, string>> = JSON.parse('__VITRINE_FILES__');
const version = '__VITRINE_VERSION__';
const site = `vitrine-site-${version}`;
const data = 'vitrine-data';
const mark = 'x-vitrine-hash';

const address = (file: string): string => new URL(file, worker.registration.scope).href;

/** Puts a file into the new copy: from an older one if the content is the same, else from the network. */
async function keep(cache: Cache, older: readonly Cache[], file: string, hash: string): Promise<void> {
  for (const old of older) {
    const known = await old.match(address(file));
    if (known?.headers.get(mark) === hash) return cache.put(address(file), known);
  }
  const answer = await fetch(address(file), { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
  const body = await answer.arrayBuffer();
  const headers = new Headers(answer.headers);
  headers.set(mark, hash);
  headers.delete('content-encoding');
  await cache.put(address(file), new Response(body, { headers }));
}

worker.addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const names = (await caches.keys()).filter((n) => n.startsWith('vitrine-site-') && n !== site);
    const older = await Promise.all(names.map((n) => caches.open(n)));
    const cache = await caches.open(site);
    const list = Object.entries(files);
    for (let i = 0; i < list.length; i += 8) await Promise.all(list.slice(i, i + 8).map(([file, hash]) => keep(cache, older, file, hash)));
    await worker.skipWaiting();
  })());
});

worker.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith('vitrine-site-') && name !== site) await caches.delete(name);
    await worker.clients.claim();
  })());
});

async function fromSite(request: Request, file: string): Promise<Response> {
  const cache = await caches.open(site);
  return (await cache.match(address(file === '' ? 'index.html' : file))) ?? fetch(request);
}

async function fromData(request: Request): Promise<Response> {
  const cache = await caches.open(data);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const known = await cache.match(request);
    if (known) return known;
    throw error;
  }
}

worker.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || !request.url.startsWith(worker.registration.scope)) return;
  const file = decodeURIComponent(request.url.slice(worker.registration.scope.length).split(/[?#]/)[0] ?? '');
  if (file.startsWith('api/')) return;
  if (file.startsWith('data/')) return event.respondWith(fromData(request));
  if (file === '' || file in files) event.respondWith(fromSite(request, file));
});

export {};
