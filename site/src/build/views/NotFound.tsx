/* NotFound.tsx -- 404.html. */
import type { JSX } from 'preact';
import { Layout } from './Layout';

export function NotFound(): JSX.Element {
  return (
    <Layout current="" faults={0}>
      <div class="head"><div><h1>No such page</h1><p class="lede">Nothing is kept at this address. The <a href="index.html">overview</a> has everything there is.</p></div></div>
    </Layout>
  );
}
