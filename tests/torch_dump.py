"""torch_dump.py -- tensors that PyTorch computed, checked: vitrine check --dump.

Speaks TAP.  Runs the PyTorch snippet of docs/check-kernel.md, then operators of
torch.nn.functional in float32, float64 and bfloat16 with their autograd gradients: all are
right.  Then a fault is planted in each, and has to be found and named.
"""
import json
import os
import re
import subprocess
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VITRINE = os.path.abspath(os.environ.get('VITRINE', os.path.join(ROOT, 'build/vitrine')))
torch.set_num_threads(1)
tests = failures = 0


def report(good, what, note=''):
    global tests, failures
    tests += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', tests, what))
    if not good:
        print('# ' + note.replace('\n', '\n# '))


def check(what, status, op, *options, row=None, kind=None, numbers=None):
    done = subprocess.run([VITRINE, 'check', '--dump', 'dump.npz', '--op', op, '--json', *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    report(done.returncode == status, what, 'exit status %d\n%s' % (done.returncode, done.stderr))
    if done.returncode not in (0, 1):
        return
    found = json.loads(done.stdout)
    case = found['cases'][0]
    if numbers is not None:
        report(found['compared'] == found['of'] == numbers, what + ': every number is compared',
               '%d of %d' % (found['compared'], found['of']))
    if row:
        wrong = [r['name'] for r in case['rows'] if r['result'] == 'fail']
        report(row in wrong, '%s: %s fails' % (what, row), 'fail: %s' % wrong)
    if kind:
        named = case['diagnosis'] and case['diagnosis']['kind']
        report(named == kind, '%s: it is %s' % (what, kind), 'named %s' % named)


def save(**tensors):
    def out(t):
        t = t.detach()
        return (t.float() if t.dtype == torch.bfloat16 else t).numpy()
    np.savez('dump.npz', **{name: out(t) for name, t in tensors.items()})


def draw(*shape, dtype=torch.float64, **more):
    return torch.randn(*shape, dtype=dtype, **more)


def the_page():
    page = open(os.path.join(ROOT, 'docs/check-kernel.md')).read()
    snippets = [s for s in re.findall(r'```python\n(.*?)```', page, re.S) if 'import torch' in s]
    report(len(snippets) == 1, 'the page has a PyTorch snippet')
    exec(snippets[0], {})
    os.rename('attention.npz', 'dump.npz')
    options = re.search(r'attention\.npz --op attention (--causal --layout bhtd)', page).group(1)
    check("the page's attention", 0, 'attention', *options.split(), numbers=5 * 4 * 30 - 4 * 30)
    check('it is not without causality', 1, 'attention', '--layout', 'bhtd', row='o', kind='mask_leak')
    check('nor in the other layout', 1, 'attention', '--causal', row='o')


def attention():
    B, NH, T, S, HS = 2, 3, 4, 7, 5
    see = torch.rand(T, S) < 0.6
    see[:, 2] = True
    for dtype in (torch.float64, torch.float32):
        q = draw(B, NH, T, HS, dtype=dtype, requires_grad=True)
        k, v = (draw(B, NH, S, HS, dtype=dtype, requires_grad=True) for _ in range(2))
        do = draw(B, NH, T, HS, dtype=dtype)
        score = (q @ k.transpose(2, 3) / HS**0.5).masked_fill(~see, float('-inf'))
        o = F.softmax(score, dim=3) @ v
        o.backward(do)
        right = dict(q=q, k=k, v=v, mask=see, o=o, do=do, dq=q.grad, dk=k.grad, dv=v.grad)
        name = 'attention, %s' % dtype
        save(**right)
        check(name, 0, 'attention', '--layout', 'bhtd')
        save(**{**right, 'dk': k.grad * HS**0.5})
        check(name + ', scale', 1, 'attention', '--layout', 'bhtd', row='dk', kind='scale_missing')
        one = q.grad.clone()
        one[1, 2, 3, 4] *= 1.01
        save(**{**right, 'dq': one})
        check(name + ', one entry', 1, 'attention', '--layout', 'bhtd', row='dq', kind='one_entry')


def others():
    for dtype in (torch.float64, torch.float32):
        x = draw(2, 3, 5, dtype=dtype, requires_grad=True)
        w, b = (draw(5, dtype=dtype, requires_grad=True) for _ in range(2))
        dy = draw(2, 3, 5, dtype=dtype)
        y = F.layer_norm(x, (5,), w, b)
        y.backward(dy)
        right = dict(x=x, w=w, b=b, y=y, dy=dy, dx=x.grad, dw=w.grad, db=b.grad)
        save(**right)
        check('layer_norm, %s' % dtype, 0, 'layernorm', numbers=30 + 30 + 5 + 5)
        save(**{**right, 'y': F.layer_norm(x, (5,), w, b, eps=1e-2)})
        check('layer_norm, epsilon, %s' % dtype, 1, 'layernorm', row='y', kind='epsilon')

        x = draw(7, 4, dtype=dtype, requires_grad=True)
        layer = torch.nn.Linear(4, 3).to(dtype)
        dy = draw(7, 3, dtype=dtype)
        y = layer(x)
        y.backward(dy)
        save(x=x, w=layer.weight.T, b=layer.bias, y=y, dy=dy, dx=x.grad, dw=layer.weight.grad.T,
             db=layer.bias.grad)
        check('Linear, %s' % dtype, 0, 'linear', numbers=21 + 28 + 12 + 3)

        x = draw(11, dtype=dtype, requires_grad=True)
        dy = draw(11, dtype=dtype)
        y = F.gelu(x, approximate='tanh')
        y.backward(dy)
        save(x=x, y=y, dy=dy, dx=x.grad)
        check('gelu, %s' % dtype, 0, 'gelu', numbers=22)
        save(x=x, y=F.gelu(x), dy=dy, dx=x.grad)
        check('gelu by erf, %s' % dtype, 1, 'gelu', row='y')

        x = draw(6, 9, dtype=dtype, requires_grad=True)
        target = torch.tensor([3, 8, -1, 0, 3, 5])
        dloss = draw(6, dtype=dtype)
        loss = F.cross_entropy(x / 0.7, target, reduction='none', ignore_index=-1)
        loss.backward(dloss)
        save(logits=x, target=target, loss=loss, dloss=dloss, dlogits=x.grad)
        check('cross_entropy, %s' % dtype, 0, 'crossentropy', '--temperature', '0.7', numbers=60)

    x = draw(4, 6, dtype=torch.bfloat16, requires_grad=True)
    dp = draw(4, 6, dtype=torch.bfloat16)
    p = F.softmax(x, dim=1)
    p.backward(dp)
    save(x=x, p=p, dp=dp, dx=x.grad)
    check('softmax in bfloat16', 0, 'softmax', '--precision', 'bfloat16', numbers=48)
    check('which is not float32', 1, 'softmax', row='p')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    torch.manual_seed(1)
    the_page()
    attention()
    others()
    os.chdir(ROOT)
print('1..%d' % tests)
raise SystemExit(1 if failures else 0)
