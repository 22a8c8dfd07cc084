/* context.ts -- what the views of the build share. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Content } from '../components/content';
import type { Sources } from './site-data';
import type { PreparedIslands } from './islands';

export interface Build {
  readonly content: Content;
  readonly sources: Sources;
  /** sha256 of vitrine.wasm; null in a draft without it. */
  readonly moduleHash: string | null;
  readonly islands: PreparedIslands;
  /** 'page': one page of the site; 'book': everything in one document. */
  readonly medium: 'page' | 'book';
  /** Where a link of the content leads in this medium. */
  readonly href: (href: string) => string;
}

const Context = createContext<Build | null>(null);
export const BuildProvider = Context.Provider;

export function useBuild(): Build {
  const build = useContext(Context);
  if (build === null) throw new Error('a view of the build was drawn outside BuildProvider');
  return build;
}
