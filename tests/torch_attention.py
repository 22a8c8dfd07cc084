"""torch_attention.py -- an attention kernel written in PyTorch, dumped and checked.

Speaks TAP.  The kernel is a torch.autograd.Function with a backward of its own, by the
softmax of each row, as a user would write one: in float64, float32 and bfloat16, causal,
under a boolean mask and both, with more keys than queries, in the layouts bthd and bhtd, by
.npz and .safetensors.  All are right; then faults are planted in it, which have to be found
and named: the scale forgotten, the row sum of the softmax forgotten, one element of dK 1 %
off (ATT-09), a mask that leaks.  ATT-01: PyTorch's own masked softmax is NaN for a query
that sees no key, and so is dV for all: the check names tensors and query.
"""
import json
import os
import struct
import subprocess
import tempfile

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VITRINE = os.path.abspath(os.environ.get('VITRINE', os.path.join(ROOT, 'build/vitrine')))
B, NH, T, S, HS = 2, 3, 5, 7, 4
torch.set_num_threads(1)
tests = failures = 0


def report(good, what, note=''):
    global tests, failures
    tests += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', tests, what))
    if not good:
        print('# ' + str(note)[:1500].replace('\n', '\n# '))


# ---- the kernel ------------------------------------------------------------------

class Attention(torch.autograd.Function):
    """o (B, NH, T, HS) of q, k, v likewise and sees (T, S); `fault` changes a line."""

    @staticmethod
    def forward(ctx, q, k, v, sees, fault):
        ctx.scale = 1 if fault == 'no scale' else q.shape[3] ** -0.5
        scores = q @ k.transpose(2, 3) * ctx.scale
        if fault == 'leak':                         # masked after the softmax: nothing sums to 1
            p = torch.softmax(scores, 3) * sees
        else:
            p = torch.softmax(scores.masked_fill(~sees, float('-inf')), 3)
            if fault != 'blind':
                p = p.masked_fill(~sees.any(1, keepdim=True), 0)
        ctx.save_for_backward(q, k, v, p)
        ctx.fault = fault
        return p @ v

    @staticmethod
    def backward(ctx, do):
        q, k, v, p = ctx.saved_tensors
        dv = p.transpose(2, 3) @ do
        dp = do @ v.transpose(2, 3)
        row = 0 if ctx.fault == 'no row sum' else (p * dp).sum(3, keepdim=True)
        ds = p * (dp - row) * ctx.scale
        dq, dk = ds @ k, ds.transpose(2, 3) @ q
        if ctx.fault == 'one element':
            dk[1, 2, 3, 1] *= 1.01
        return dq, dk, dv, None, None


def compute(kernel, dtype, mask=None, causal=False, queries=T, keys=S, fault=''):
    """A dump's tensors, heads in front of positions."""
    sees = torch.ones(queries, keys, dtype=torch.bool)
    if mask is not None:
        sees = sees & mask
    if causal:
        sees = sees.tril(keys - queries)
    make = torch.Generator().manual_seed(queries * 31 + keys)
    q, k, v, do = (torch.randn(B, NH, n, HS, generator=make, dtype=torch.float64).to(dtype)
                   for n in (queries, keys, keys, queries))
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    o = kernel(q, k, v, sees, fault)
    o.backward(do)
    dump = {'q': q, 'k': k, 'v': v, 'o': o, 'do': do, 'dq': q.grad, 'dk': k.grad, 'dv': v.grad}
    dump = {name: (x.float() if dtype == torch.bfloat16 else x).detach() for name, x in dump.items()}
    if mask is not None:
        dump['mask'] = mask
    return dump


def by_hand(q, k, v, sees, fault):
    return Attention.apply(q, k, v, sees, fault)


def by_autograd(q, k, v, sees, _):
    scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
    return torch.softmax(scores.masked_fill(~sees, float('-inf')), 3) @ v


# ---- files -------------------------------------------------------------------------

def write(path, dump, layout):
    arrays = {name: (x.transpose(1, 2) if layout == 'bthd' and x.dim() == 4 else x)
              .contiguous().numpy() for name, x in dump.items()}
    if path.endswith('.npz'):
        np.savez(path, **arrays)
        return
    header, at = {}, 0
    kinds = {'float64': 'F64', 'float32': 'F32', 'bool': 'BOOL'}
    for name, x in arrays.items():
        header[name] = {'dtype': kinds[x.dtype.name], 'shape': list(x.shape),
                        'data_offsets': [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + b''.join(x.tobytes() for x in arrays.values()))


def check(dump, *options, file='dump.npz', layout='bhtd'):
    write(file, dump, layout)
    done = subprocess.run([VITRINE, 'check', '--dump', file, '--op', 'attention', '--json',
                           '--layout', layout, *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    case = json.loads(done.stdout)['cases'][0] if done.stdout else {'rows': [], 'diagnosis': None}
    return done.returncode, case, done.stderr


def right(what, dump, *options, **more):
    code, case, said = check(dump, *options, **more)
    outputs = [r for r in case['rows'] if r['kind'] in ('output', 'gradient')]
    numbers = sum(dump[name].numel() for name in ('o', 'dq', 'dk', 'dv'))
    report(code == 0 and sum(r['compared'] for r in outputs) == numbers, what + ' passes', said)


def wrong(what, dump, *options, rows, kind=None, index=None):
    code, case, said = check(dump, *options)
    failing = {r['name']: r for r in case['rows'] if r['result'] == 'fail'}
    report(code == 1 and set(failing) >= set(rows), what + ' is found', '%s %s' % (said, list(failing)))
    if kind:
        named = case['diagnosis'] and case['diagnosis']['kind']
        report(named == kind, '%s: it is %s' % (what, kind), case['diagnosis'])
    if index:
        report(index in [r['index'] for r in failing.values()] and index in said,
               '%s: at %s' % (what, index), said)
    return failing


def main():
    make = torch.Generator().manual_seed(3)
    mask = torch.rand(T, S, generator=make) < 0.5
    mask[:, 0] = True
    blind = mask.clone()
    blind[2] = False                                # a query that sees no key
    for dtype, options in ((torch.float64, []), (torch.float32, []),
                           (torch.bfloat16, ['--precision', 'bfloat16'])):
        name = str(dtype)[6:]
        for file in ('dump.npz', 'dump.safetensors'):
            for layout in ('bthd', 'bhtd'):
                where = {'file': file, 'layout': layout}
                what = '%s, %s in %s: ' % (name, layout, file)
                right(what + 'masked', compute(by_hand, dtype, mask), *options, **where)
                right(what + 'causal', compute(by_hand, dtype, causal=True), '--causal', *options, **where)
                right(what + 'both', compute(by_hand, dtype, mask, True), '--causal', *options, **where)
                right(what + 'a query without keys (ATT-01)', compute(by_hand, dtype, blind),
                      *options, **where)
                right(what + 'autograd', compute(by_autograd, dtype, mask), *options, **where)
        right(name + ': square, causal', compute(by_autograd, dtype, causal=True, queries=S),
              '--causal', *options)
        right(name + ': neither', compute(by_autograd, dtype), *options)

        gradients = ['dq', 'dk']
        for causal in (False, True):
            also = options + ['--causal'] * causal
            what = '%s%s: ' % (name, ', causal' if causal else '')
            wrong(what + 'no 1/sqrt(d)', compute(by_hand, dtype, mask, causal, fault='no scale'), *also,
                  rows=['o', 'dq', 'dk', 'dv'], kind='scale_missing')
            wrong(what + 'no row sum', compute(by_hand, dtype, mask, causal, fault='no row sum'), *also,
                  rows=gradients, kind='softmax_row_sum_missing')
            wrong(what + 'masked after the softmax', compute(by_hand, dtype, mask, causal, fault='leak'),
                  *also, rows=['o'])
            if dtype != torch.bfloat16:             # 1 % is its rounding
                failing = wrong(what + 'one element of dK by 1 %',
                                compute(by_hand, dtype, mask, causal, fault='one element'), *also,
                                rows=['dk'], kind='one_entry', index='dk[1, 2, 3, 1]')
                report(list(failing) == ['dk'] and failing['dk']['failed'] == 1,
                       what + 'and nothing else', list(failing))
        # ATT-01: as PyTorch's softmax has it.  0 times NaN reaches every key's value; dq and
        # dk are saved by masked_fill's backward, which selects.
        failing = wrong(name + ': a softmax over no key (ATT-01)', compute(by_autograd, dtype, blind),
                        *options, rows=['o', 'dv'])
        report(failing['o']['found'] is None and ', 2, ' in failing['o']['index'] and
               failing['dv']['failed'] == failing['dv']['of'],
               name + ': NaN in that query, and in all of dv', failing)
        wrong(name + ': likewise by hand', compute(by_hand, dtype, blind, fault='blind'), *options,
              rows=['o', 'dq', 'dk', 'dv'])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir(ROOT)
print('1..%d' % tests)
raise SystemExit(failures > 0)
