"""torch_model.py -- the definitions against PyTorch's automatic differentiation.

Speaks TAP.  Trains two tiny models (head tied, head apart) with the command,
builds a GPT-2 of PyTorch's own functions from model.safetensors, and compares
in float64, within 1e-12 of each tensor's largest entry: logits, the loss of each
row, every gradient; and of the definitions alone layer norm, GELU, cross-entropy
at a temperature, five steps of AdamW.  tests/dump_definitions.c writes the
definitions' side.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VITRINE = os.environ.get('VITRINE', os.path.join(ROOT, 'build/vitrine'))
DUMP = os.path.join(ROOT, 'build/tests/dump_definitions')
BOUND = 1e-12
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
tests = failures = 0


def report(good, what, note=''):
    global tests, failures
    tests += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', tests, what))
    if note:
        print('# ' + note)


def near(what, ours, theirs):
    """Every entry within BOUND of the largest; a NaN is not near."""
    if ours.numel() != theirs.numel() or ours.numel() == 0:
        report(False, what, 'shapes %s and %s' % (list(ours.shape), list(theirs.shape)))
        return
    ours, theirs = ours.reshape(-1), theirs.detach().reshape(-1)
    largest = theirs.abs().max().item()
    error = (ours - theirs).abs().max().item()
    good = largest > 0 and error <= BOUND * largest
    note = '%d entries, largest error %.2g of the largest' % (len(ours), error / largest if largest else error)
    report(good, what, '' if good else note)


def read(path):
    """A safetensors file, without its authors' reader."""
    raw = open(path, 'rb').read()
    n = struct.unpack('<Q', raw[:8])[0]
    head = json.loads(raw[8:8 + n])
    head.pop('__metadata__', None)
    out = {}
    for name, t in head.items():
        begin, end = t['data_offsets']
        kind, size = {'F32': ('f', 4), 'F64': ('d', 8), 'I32': ('i', 4)}[t['dtype']]
        data = struct.unpack('<%d%s' % ((end - begin) // size, kind), raw[8 + n + begin:8 + n + end])
        dtype = torch.int64 if t['dtype'] == 'I32' else torch.float64
        out[name] = torch.tensor(data, dtype=dtype).reshape(t['shape'])
    return out


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print('# ' + done.stdout.decode(errors='replace').replace('\n', '\n# '))
        raise SystemExit('%s: exit status %d' % (command[0], done.returncode))


def gpt2(p, config, tokens):
    """Logits (B, T, V) of the parameters p, by Hugging Face's names."""
    heads, C = config['n_head'], config['n_embd']
    B, T = tokens.shape
    unseen = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)

    def norm(x, name):
        return F.layer_norm(x, (C,), p[name + '.weight'], p[name + '.bias'], config['layer_norm_epsilon'])

    def linear(x, name):
        return x @ p[name + '.weight'] + p[name + '.bias']

    x = F.embedding(tokens, p['transformer.wte.weight']) + p['transformer.wpe.weight'][:T]
    for layer in range(config['n_layer']):
        at = 'transformer.h.%d.' % layer
        q, k, v = (part.reshape(B, T, heads, C // heads).transpose(1, 2)
                   for part in linear(norm(x, at + 'ln_1'), at + 'attn.c_attn').split(C, dim=2))
        score = (q @ k.transpose(2, 3) / (C // heads) ** 0.5).masked_fill(unseen, float('-inf'))
        values = (F.softmax(score, dim=3) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + linear(values, at + 'attn.c_proj')
        hidden = F.gelu(linear(norm(x, at + 'ln_2'), at + 'mlp.c_fc'), approximate='tanh')
        x = x + linear(hidden, at + 'mlp.c_proj')
    head = p['transformer.wte.weight'] if config['tie_word_embeddings'] else p['lm_head.weight']
    return norm(x, 'transformer.ln_f') @ head.T


def whole_model(folder, corpus, head):
    out = os.path.join(folder, head[2:])
    dumped = os.path.join(folder, 'dump.safetensors')
    run(VITRINE, 'train', '--data', corpus, '--preset', 'tiny', '--steps', '60', '--merges', '60', '--lr', '1e-2',
        head, '--out', out)
    run(DUMP, out, dumped)
    config = json.load(open(os.path.join(out, 'config.json')))
    p = {name: t.requires_grad_() for name, t in read(os.path.join(out, 'model.safetensors')).items()}
    ours = read(dumped)
    what = 'tied: ' if config['tie_word_embeddings'] else 'head apart: '
    report(config['tie_word_embeddings'] == (head == '--tied'), what + 'config.json says so')

    logits = gpt2(p, config, ours['tokens'])
    near(what + 'logits', ours['logits'], logits)
    target = ours['targets'].reshape(-1)
    report(int((target == -1).sum()) == 1, what + 'one target is ignored')
    flat = logits.reshape(len(target), -1)
    near(what + 'loss of each row', ours['loss'], F.cross_entropy(flat, target, ignore_index=-1, reduction='none'))
    F.cross_entropy(flat, target, ignore_index=-1).backward()
    compared = 0
    for name, t in p.items():
        theirs = t.grad.T if name == 'lm_head.weight' else t.grad       # (C, V) here, (V, C) there
        near(what + 'gradient of ' + name, ours.pop(name), theirs)
        compared += t.numel()
    report(set(ours) == {'logits', 'loss', 'tokens', 'targets'}, what + 'every gradient was compared',
           '%d entries' % compared)


def kernels(folder):
    dumped = os.path.join(folder, 'kernels.safetensors')
    run(DUMP, '--kernels', dumped)
    k = read(dumped)

    x, w, b = (k['ln.' + name].clone().requires_grad_() for name in ('x', 'w', 'b'))
    out = F.layer_norm(x, (x.shape[1],), w[0], b[0], 1e-5)
    near('layer norm', k['ln.out'], out)
    out.backward(k['ln.dout'])
    for name, t in (('dx', x), ('dw', w), ('db', b)):
        near('layer norm: ' + name, k['ln.' + name], t.grad)

    x = k['gelu.x'].clone().requires_grad_()
    out = F.gelu(x, approximate='tanh')
    near('GELU, tanh form', k['gelu.out'], out)
    out.backward(k['ln.dout'])
    near('GELU: dx', k['gelu.dx'], x.grad)

    logits = k['ce.logits'].clone().requires_grad_()
    loss = F.cross_entropy(logits / 0.7, k['ce.target'][0], ignore_index=-1, reduction='none')
    near('cross-entropy at temperature 0.7', k['ce.loss'], loss)
    loss.backward(k['ce.dloss'][0])
    near('cross-entropy: dlogits', k['ce.dlogits'], logits.grad)

    weight = k['adamw.start'][0].clone().requires_grad_()
    adamw = torch.optim.AdamW([weight], lr=0.05, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    for step, gradient in enumerate(k['adamw.g']):
        weight.grad = gradient.clone()
        adamw.step()
        near('AdamW, step %d' % (step + 1), k['adamw.w'][step], weight)


def main():
    words = ['the', 'cat', 'saw', 'a', 'hat', 'sat', 'on', 'that', 'mat', 'caf\u00e9', 'grey', 'and', 'slow']
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, 'corpus.txt')
        with open(corpus, 'w', encoding='utf-8') as f:
            for _ in range(400):
                f.write(' '.join(draw.choice(words) for _ in range(draw.randrange(3, 12))) + '.\n')
        kernels(folder)
        whole_model(folder, corpus, '--untied')
        whole_model(folder, corpus, '--tied')
    print('1..%d' % tests)
    return 1 if failures else 0


sys.exit(main())
