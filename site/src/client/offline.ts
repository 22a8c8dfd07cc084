/* offline.ts -- starts the worker that keeps the site for reading without a network. */

export function startOffline(): void {
  if (!('serviceWorker' in navigator) || !isSecureContext) return;
  addEventListener('load', () => {
    navigator.serviceWorker.register('sw.js').catch((error: unknown) => console.info('no offline copy:', error));
  });
}
