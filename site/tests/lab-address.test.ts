/* lab-address.test.ts -- the state of the lab goes into the address and comes back;
 * what is not understood is left out, with a note. */
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from '../src/lab/address';
import { EDITABLE, outside, PARAMETERS, settle, START, type Bounds, type LabState } from '../src/lab/lab-state';
import { PROJECTIONS, STEPS } from '../src/lab/steps';

const bounds: Bounds = { L: 2, H: 2, T: 6, C: 4 };

/** A small generator of its own: the same states each time. */
function draws(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 2 ** 32) * n);
  };
}

describe('the address', () => {
  it('of the start is short', () => {
    expect(formatAddress(START)).toBe('#lab');
    expect(parseAddress('#lab')).toEqual({ state: START, notes: [] });
  });

  it('is read as the contract writes it', () => {
    const parsed = parseAddress('#lab?src=example&layer=0&head=1&token=3&cell=3,1&step=softmax&view=table&param=Wq:1,0&h=5&edit=Wq:0,1=0.25;bq:2=-1e-3');
    expect(parsed?.notes).toEqual([]);
    expect(parsed?.state).toMatchObject({ head: 1, i: 3, j: 1, step: 'softmax', view: 'table', parameter: 'Wq', row: 1, column: 0, h: 5,
      edits: [{ name: 'Wq', row: 0, column: 1, value: 0.25 }, { name: 'bq', row: 0, column: 2, value: -1e-3 }] });
  });

  it('restores any state', () => {
    const n = draws(7);
    for (let k = 0; k < 3000; k++) {
      const step = STEPS[n(STEPS.length)] as LabState['step'];
      const src = n(2) ? 'model' : 'example';
      const state = settle({
        src, text: src === 'model' && n(2) ? ['<img src=x onerror=alert(1)>', 'a & b = c; #?', '\u00e9\u65e5 \ud83d\udc31\n\t', '%41+1'][n(4)] as string : null,
        layer: n(2), head: n(2), i: n(6), j: n(6), x: n(4), step, projection: step === 'project' ? PROJECTIONS[n(3)] as 'Q' : 'Q', view: n(2) ? 'map' : 'table',
        parameter: PARAMETERS[n(9)] as 'Wq', row: n(4), column: n(4), h: n(33) / 2,
        edits: Array.from({ length: n(4) }, (_, e) => ({ name: EDITABLE[(k + e) % 10] as 'Wq', row: EDITABLE[(k + e) % 10]?.startsWith('b') ? 0 : n(4), column: n(4), value: (n(2000) - 1000) / 7 })),
      }, bounds);
      const address = formatAddress(state);
      const back = parseAddress(address);
      expect(back?.notes, address).toEqual([]);
      expect(settle((back as { state: LabState }).state, bounds), address).toEqual(state);
    }
  });

  it('leaves out what it does not know, and says so', () => {
    for (const [text, note] of [
      ['step=attention', 'step=attention'], ['nonsense=1', 'nonsense'], ['cell=a,b', 'cell=a,b'], ['cell=1', 'cell=1'], ['head=-1', 'head=-1'], ['param=Wz:0,0', 'param=Wz:0,0'],
      ['h=17', 'h=17'], ['h=5.25', 'h=5.25'], ['edit=Wq:0,0=Infinity', 'edit=Wq:0,0=Infinity'], ['edit=Wq:0,0=', 'edit=Wq:0,0='], ['edit=alert(1)', 'edit=alert(1)'], ['src=other', 'src=other'],
      ['view=%E0%A4%A', 'view=%E0%A4%A'],
      ['%', '%'], ['__proto__=1', '__proto__'], ['constructor=1', 'constructor'], ['step=softmax:K', 'step=softmax:K'], ['layer=9999999', 'layer=9999999'],
    ] as const) {
      const parsed = parseAddress(`#lab?view=table&${text}`);
      expect(parsed?.notes, text).toEqual([note]);
      expect(parsed?.state.step).toBe('softmax');
      expect(parsed?.state.parameter).toBe('Wq');
    }
  });

  it('of another part of the page is not the lab\u2019s', () => {
    for (const other of ['', '#softmax', '#labour', '#lab-code', '#eq-attn.softmax']) expect(parseAddress(other)).toBeNull();
  });

  it('settles what lies outside the sizes', () => {
    const far = settle({ ...START, layer: 9, head: 9, i: 99, j: 99, x: 99, row: 99, column: 99 }, bounds);
    expect(far).toMatchObject({ layer: 1, head: 1, i: 5, j: 5, x: 3, row: 3, column: 3 });
    expect(outside({ ...START, head: 2, x: 4 }, bounds)).toEqual(['head 2', 'channel 4']);
    expect(outside(far, bounds)).toEqual([]);
    const edit = { name: 'Wq', row: 9, column: 0, value: 1 } as const;
    expect(outside({ ...START, edits: [edit] }, bounds)).toEqual(['edit of Wq']);
    expect(settle({ ...START, edits: [edit] }, bounds).edits).toEqual([]);
    const inside = [{ ...edit, row: 3 }];
    expect(settle({ ...START, edits: inside }, bounds).edits).toBe(inside);
  });
});
