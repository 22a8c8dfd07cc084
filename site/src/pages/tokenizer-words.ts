/* tokenizer-words.ts -- what becomes of a text: its words, their bytes, each merge, the ids, the text again.
 * All of it is asked of the C code; nothing is joined or counted here. */
import { visible } from '../components/Tokens';
import type { Tokenizer } from '../engine/types';

export interface MergeStep {
  /** Tokens of the word before the merge, visible. */
  readonly tokens: readonly string[];
  readonly ids: readonly number[];
  readonly at: number;
  readonly rank: number;
}
export interface EncodedWord {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly steps: readonly MergeStep[];
  readonly ids: readonly number[];
}
export interface EncodedText {
  readonly words: readonly EncodedWord[];
  readonly ids: Int32Array;
  readonly tokens: readonly string[];
  readonly bytes: number;
  /** Decoded again, and whether it is the text that went in. */
  readonly back: string;
  readonly same: boolean;
}

/** Lone halves of surrogate pairs have no bytes: they are what TextEncoder makes of them. */
const utf8 = new TextEncoder();

export function encodeText(tokenizer: Tokenizer, typed: string): EncodedText {
  const bytes = utf8.encode(typed), text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const name = (id: number): string => visible(tokenizer.bytes(id));
  const words = tokenizer.split(text).map(({ start, end }): EncodedWord => {
    const part = bytes.slice(start, end), word = new TextDecoder('utf-8', { ignoreBOM: true }).decode(part);
    return {
      text: visible(part), bytes: part, ids: [...tokenizer.encode(word)],
      steps: tokenizer.merges(word).map((s) => ({ ...s, tokens: s.ids.map(name) })),
    };
  });
  const ids = tokenizer.encode(text), back = tokenizer.decode(ids);
  return { words, ids, tokens: Array.from(ids, name), bytes: bytes.length, back, same: back === text };
}
