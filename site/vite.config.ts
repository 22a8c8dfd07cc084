/* vite.config.ts -- two bundles: the scripts of the browser, and (with --ssr) the tool that writes the pages. */
import { resolve } from 'node:path';
import { defineConfig } from 'vite';

const work = resolve(__dirname, '../build/site-work');
/** Scripts that are no modules have fixed forms: the worker its fixed name, too. */
const inputs = { main: 'src/client/main.ts', theme: 'src/client/theme.ts', sw: 'src/client/sw.ts' };

export default defineConfig(({ isSsrBuild }) => ({
  root: __dirname,
  base: './',
  publicDir: isSsrBuild ? false : 'public',
  cacheDir: resolve(work, 'vite'),
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: isSsrBuild
    ? { outDir: resolve(work, 'tool'), emptyOutDir: true, target: 'node18', minify: false }
    : {
        outDir: resolve(work, 'client'), emptyOutDir: true, target: 'es2022', manifest: 'manifest.json', modulePreload: { polyfill: false }, assetsInlineLimit: 0,
        rollupOptions: {
          input: inputs,
          output: { entryFileNames: (chunk) => (chunk.name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'), chunkFileNames: 'assets/[name]-[hash].js', assetFileNames: 'assets/[name]-[hash][extname]' },
        },
      },
  ssr: { noExternal: true, external: ['playwright-core'] },
  test: { include: ['tests/**/*.test.{ts,tsx}'], environment: 'node', testTimeout: 60_000 },
} as import('vite').UserConfig));
