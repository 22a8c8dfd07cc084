/* Shapes.tsx -- the flow of shapes through a concept: stacked sheets, symbols, sizes.
 *
 * The sizes are those of tensors that came out of a run: the example's when the
 * page was built; in the browser, on request, the trained model's.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { sourceWords, type Source } from './content';
import { defineIsland, type ViewProps } from './island';
import { onModelShapes, requestModelShapes, shapeIn, type ModelShapes } from './model-shapes';
import { Tex } from './Tex';

export interface ShapeStep {
  readonly tex: string;
  readonly letters: string;
  readonly then: string;
  /** Name of the trained model's tensor, or null where it has no counterpart. */
  readonly model: string | null;
  /** null where the run did not give it. */
  readonly size: readonly number[] | null;
}
export interface ShapesProps {
  /** Of the run that gave the sizes; default: example. */
  readonly source?: Source;
  readonly flow: readonly ShapeStep[];
}

/** Width of a sheet: a column vector is narrow, a row vector is flat. */
function Sheets({ size }: { size: readonly number[] }): JSX.Element {
  const last = size[size.length - 1] ?? 1;
  const rows = size.length > 1 ? (size[size.length - 2] ?? 1) : 1;
  const side = (n: number, most: number): number => Math.max(10, Math.round((52 * Math.sqrt(n)) / Math.sqrt(Math.max(1, most))));
  const most = Math.max(last, rows);
  const style = `--w:${side(last, most)}px;--h:${side(rows, most)}px`;
  return <div class="bx" aria-hidden="true">{size.length > 2 ? [<i style={style} />, <i style={style} />] : <i style={style} />}</div>;
}

function Step({ step, size }: { step: ShapeStep; size: readonly number[] | null }): JSX.Element {
  return (
    <>
      <div class="shape">
        <Sheets size={size ?? []} />
        <div><Tex tex={step.tex} /> <span class="letters">{step.letters}</span><small>{size === null ? 'not there' : size.length === 0 ? 'one number' : `(${size.join(', ')})`}</small></div>
      </div>
      {step.then === '' ? null : <div class="arr">{step.then}</div>}
    </>
  );
}

function View({ props, engine }: ViewProps<ShapesProps, undefined>): JSX.Element {
  const [model, setModel] = useState<ModelShapes | null>(null);
  const [note, setNote] = useState('');
  useEffect(() => onModelShapes((shapes, message) => {
    setModel(shapes);
    setNote(message);
  }), []);
  const both = props.flow.every((s) => s.model !== null);
  const real = model !== null && both;
  const source = real ? 'model' : props.source ?? 'example';
  return (
    <div class="flowbox" data-source={source}>
      <div class="shapes">{props.flow.map((s) => <Step step={s} size={real ? shapeIn(model.shapes, s.model as string, s.letters) : s.size} />)}</div>
      <p class="cap">
        Sizes: {sourceWords[source]}{real ? `, ${model.words}` : ''}.{' '}
        {both ? <button type="button" class="btn quiet live" onClick={() => requestModelShapes(!real, engine)}>{real ? 'Sizes of the example' : 'Sizes of the trained model'}</button> : null}
        {note === '' ? null : <span role="status">{note}</span>}
      </p>
    </div>
  );
}

export const island = defineIsland<ShapesProps>({ view: View, core: true, waits: true });
