/* Tokens.tsx -- tokens as chips, one of them chosen; the bar is a weight.
 *
 * A token is any bytes.  Here it is text: spaces get a visible sign, line ends read
 * \n, and what is not a character is written as its bytes.  Always a text node.
 */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { paint } from './colour';
import '../style/picker.css';

export const SPACE = '\u00b7';

/** The bytes of a token as visible text. */
export function visible(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (b) => (b > 32 && b < 127 ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, '0')}`)).join('');
  }
  return visibleText(text);
}

export function visibleText(text: string): string {
  return text.replace(/ /g, SPACE).replace(/\n/g, '\\n').replace(/\t/g, '\\t').replace(/\r/g, '\\r')
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export interface TokensProps {
  readonly label: string;
  /** Visible texts. */
  readonly tokens: readonly string[];
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
  /** A weight for each token, 0 to 1; null draws no bar. */
  readonly weights?: readonly (number | null)[] | undefined;
}

export function Tokens({ label, tokens, chosen, onChoose, weights }: TokensProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (root.current?.contains(document.activeElement)) root.current.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowRight: chosen + 1, ArrowDown: chosen + 1, ArrowLeft: chosen - 1, ArrowUp: chosen - 1, Home: 0, End: tokens.length - 1 }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onChoose(Math.min(tokens.length - 1, Math.max(0, to)));
  };
  return (
    <div class="chips" role="radiogroup" aria-label={label} ref={root} onKeyDown={onKeyDown}>
      {tokens.map((token, k) => {
        const weight = weights?.[k];
        return (
          <button key={k} type="button" class={`chip${k === chosen ? ' q' : ''}`} role="radio" aria-checked={k === chosen}
            tabIndex={k === chosen ? 0 : -1} onClick={() => onChoose(k)}>
            {typeof weight === 'number' && <span class="w" style={paint('weight', weight)} />}
            {token.startsWith(SPACE) ? [<i key="s">{SPACE}</i>, token.slice(1)] : token}
          </button>
        );
      })}
    </div>
  );
}
