/* vite.config.ts -- two bundles: the scripts of the browser, and (with --ssr) the tool that writes the pages. */
import { resolve } from 'node:path';
import { relative } from 'node:path/posix';
import { defineConfig, type Plugin } from 'vite';

const work = resolve(__dirname, '../build/site-work');
/** Scripts that are no modules have fixed forms: the worker its fixed name, too. */
const inputs = { main: 'src/client/main.ts', theme: 'src/client/theme.ts', sw: 'src/client/sw.ts' };

/** chunks.json: for each chunk its modules, imports and style sheets, by which the build links what a page needs. */
function chunkList(): Plugin {
  return {
    name: 'vitrine-chunks',
    apply: 'build',
    // After Vite has taken out the chunks that hold nothing but styles.
    generateBundle: { order: 'post', handler(_options, bundle) {
      const list = Object.values(bundle).flatMap((c) => (c.type !== 'chunk' ? [] : [{
        file: c.fileName,
        modules: c.moduleIds.filter((id) => id.startsWith(`${__dirname}/src/`)).map((id) => relative(__dirname, id)),
        imports: c.imports.filter((file) => file in bundle),
        css: [...(c.viteMetadata?.importedCss ?? [])],
      }]));
      this.emitFile({ type: 'asset', fileName: 'chunks.json', source: JSON.stringify(list, null, 1) });
    } },
  };
}

/** Stands for Vite's own: before code that comes late, its style sheets; no list of all chunks in the entry. */
const lateStyles = `
const there = new Map();
const sheet = (href) => {
  if (!there.has(href)) there.set(href, [...document.styleSheets].some((s) => s.href === href) || new Promise((done, failed) => {
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href, onload: done, onerror: () => failed(new Error(href + ' was not loaded')) });
    document.head.append(link);
  }));
  return there.get(href);
};
export const __vitePreload = (load, styles = [], at = '') => Promise.all(styles.map((name) => sheet(new URL(name, at).href))).then(load);
`;
function preload(): Plugin {
  return { name: 'vitrine-preload', apply: 'build', enforce: 'pre', load: (id) => (id === '\0vite/preload-helper.js' ? lateStyles : undefined) };
}

/** What every page with a live part needs: one file packs better than many, and asks once. */
const everywhere = /preload-helper|\/node_modules\/preact\/|\/style\/(tokens|page|concept|case|code|controls|figure|ledger|lab|print)\.css|\/src\/(engine\/(attention|core|definitions|later|module)|pages\/islands|client\/(main|islands|menu|offline|rail|theme-button))\b|\/src\/components\/(Case|colour|content|Legend|grid-keys|island|narrow|numbers|Scroll|Segment|shown-theme|Tex)\.tsx?$/;
/** What the figures of examples are drawn with. */
const figures = /\/src\/(components\/(chosen-cell|ExampleView|HeatMap|LedgerTable)\.tsx?|examples\/registry\.ts)$/;
/** The Attention page's own. */
const attention = /\/src\/(lab\/(Lab|Stage|Prove|steps|lab-state|code-panels|code-values|use-model|verdict)\.|components\/(CodePanel|Track)\.)/;

function chunkOf(id: string): string | undefined {
  if (everywhere.test(id)) return 'main';
  if (figures.test(id)) return 'figures';
  return attention.test(id) ? 'attention' : undefined;
}

export default defineConfig(({ isSsrBuild }) => ({
  root: __dirname,
  plugins: isSsrBuild ? [] : [preload(), chunkList()],
  base: './',
  publicDir: isSsrBuild ? false : 'public',
  cacheDir: resolve(work, 'vite'),
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: isSsrBuild
    ? { outDir: resolve(work, 'tool'), emptyOutDir: true, target: 'node18', minify: false,
        // .mjs: the folder has no package.json to say that these are modules.
        rollupOptions: { output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' } } }
    : {
        outDir: resolve(work, 'client'), emptyOutDir: true, target: 'es2022', modulePreload: { polyfill: false, resolveDependencies: () => [] }, assetsInlineLimit: 0,
        rollupOptions: {
          input: inputs,
          output: { manualChunks: chunkOf, onlyExplicitManualChunks: true, entryFileNames: (chunk) => (chunk.name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'), chunkFileNames: 'assets/[name]-[hash].js', assetFileNames: 'assets/[name]-[hash][extname]' },
        },
      },
  worker: { format: 'es' },
  ssr: { noExternal: true, external: ['playwright-core'] },
  // One process, in which each module is read once: no test leaves anything in a module that another could meet.  (--single-threaded: tools/map says why.)
  test: { include: ['tests/**/*.test.{ts,tsx}'], environment: 'node', testTimeout: 300_000, hookTimeout: 300_000, isolate: false, pool: 'forks', poolOptions: { forks: { minForks: 1, maxForks: 2, execArgv: ['--single-threaded'] } } },
} as import('vite').UserConfig));
