"""The operators of vitrine_kernel.h and their gradients, in PyTorch's own words.

usage: python3 -c SCRIPT OP FOLDER COUNT

For each of FOLDER/1.npz ... FOLDER/COUNT.npz: reads inputs and upstream gradients (names
as in vitrine_kernel.h), computes outputs and gradients in float64 by automatic
differentiation, and writes them to FOLDER/torch.1.npz ...  Says "torch VERSION", or
"error: why" and ends with 1; with 43 where torch cannot be imported.

All that is taken from the file is what the operator is given: no output, no gradient.
"""
import sys

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit(43)

INFINITY = float('inf')


def attend(q, k, v, c):
    """Weights (B, NH, T, S) and values (B, T, NH, HS) of queries (B, T, NH, HS)."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    T, S = q.shape[2], k.shape[2]
    sees = torch.ones(T, S, dtype=torch.bool)
    if 'mask' in c:
        sees &= c['mask'] != 0
    if c['causal']:
        sees &= torch.ones(T, S, dtype=torch.bool).tril(S - T)
    # A softmax over no key is NaN, and so is its gradient: such a query has weights of 0.
    blind = ~sees.any(1, keepdim=True)
    scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~(sees | blind), -INFINITY)
    p = F.softmax(scores, 3).masked_fill(blind, 0)
    return p, (p @ v).transpose(1, 2)


def split(x, heads):
    """The last axis as (heads, width)."""
    return x.reshape(*x.shape[:-1], heads, -1)


def softmax(c):
    return {'p': F.softmax(c['x'], 1)}


def linear(c):
    return {'y': F.linear(c['x'], c['w'].T, c['b'])}


def layernorm(c):
    return {'y': F.layer_norm(c['x'], c['w'].shape, c['w'], c['b'], 1e-5)}


def gelu(c):
    return {'y': F.gelu(c['x'], approximate='tanh')}


def attention(c):
    return {'o': attend(c['q'], c['k'], c['v'], c)[1]}


def projected(c):
    q, k, v = (split(F.linear(c['x'], c['w' + n].T, c['b' + n]), c['heads']) for n in 'qkv')
    return {'y': F.linear(attend(q, k, v, c)[1].flatten(2), c['wo'].T, c['bo'])}


def crossentropy(c):
    return {'loss': F.cross_entropy(c['logits'] / c['temperature'], c['target'],
                                    ignore_index=-1, reduction='none')}


def gpt2_block(x, c, at):
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], c[at + name + '.weight'], c[at + name + '.bias'], 1e-5)

    def affine(x, name):
        return F.linear(x, c[at + name + '.weight'].T, c[at + name + '.bias'])

    q, k, v = (split(part, c['heads']) for part in affine(norm(x, 'ln_1'), 'attn.c_attn').chunk(3, 2))
    x = x + affine(attend(q, k, v, c)[1].flatten(2), 'attn.c_proj')
    return x + affine(F.gelu(affine(norm(x, 'ln_2'), 'mlp.c_fc'), approximate='tanh'), 'mlp.c_proj')


def block(c):
    return {'y': gpt2_block(c['x'], c, '')}


def gpt(c):
    tokens, targets = c['tokens'], c['targets']
    x = F.embedding(tokens, c['wte.weight']) + c['wpe.weight'][:tokens.shape[1]]
    layer = 0
    while 'h.%d.ln_1.weight' % layer in c:
        x = gpt2_block(x, c, 'h.%d.' % layer)
        layer += 1
    x = F.layer_norm(x, x.shape[-1:], c['ln_f.weight'], c['ln_f.bias'], 1e-5)
    logits = x @ (c['lm_head.weight'] if 'lm_head.weight' in c else c['wte.weight'].T)
    return {'loss': F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1,
                                    reduction='none').reshape(targets.shape)}


def lab(c):
    q, k, v = (split(c['x'] @ c['w' + n], c['heads']).unsqueeze(0) for n in 'qkv')
    p, o = attend(q, k, v, c)
    logits = o.flatten(2)[0] @ c['wo']
    loss = F.cross_entropy(logits / c['temperature'], c['target'])
    return {'p': p[0], 'o': o[0], 'logits': logits, 'loss': loss.reshape(1)}


OPERATORS = {f.__name__: f for f in (softmax, linear, layernorm, gelu, attention, projected,
                                     crossentropy, block, gpt, lab)}
OUTPUTS = {'p', 'y', 'o', 'loss'}       # with lab's logits; crossentropy's are an input


def solve(op, read, write):
    c, upstream = {}, {}
    with numpy.load(read) as arrays:
        for name in arrays.files:
            x = arrays[name]
            if name in ('causal', 'heads'):
                c[name] = int(x)
            elif name == 'temperature':
                c[name] = float(x)
            elif x.dtype == numpy.int32:
                c[name] = torch.from_numpy(x.astype(numpy.int64))
            elif name[:1] == 'd' and name[1:] in OUTPUTS:
                upstream[name[1:]] = torch.from_numpy(x)
            elif 'd' + name in arrays.files and name not in OUTPUTS:
                c[name] = torch.from_numpy(x.astype(numpy.float64)).requires_grad_()
    outputs = OPERATORS[op](c)
    torch.autograd.backward([outputs[name] for name in upstream], list(upstream.values()))
    answer = {name: x.detach().numpy() for name, x in outputs.items()}
    for name, x in c.items():
        if isinstance(x, torch.Tensor) and x.requires_grad:
            answer['d' + name] = (torch.zeros_like(x) if x.grad is None else x.grad).numpy()
    numpy.savez(write, **answer)


def main(op, folder, count):
    torch.set_num_threads(1)
    print('torch', torch.__version__)
    for number in range(1, int(count) + 1):
        solve(op, '%s/%d.npz' % (folder, number), '%s/torch.%d.npz' % (folder, number))


try:
    main(*sys.argv[1:])
except Exception as why:                # whatever it is: one line says it
    print('error: %s: %s' % (type(why).__name__, ' '.join(str(why).split())))
    sys.exit(1)
