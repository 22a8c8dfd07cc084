"""torch_check.py -- vitrine check --torch: PyTorch agrees with every gradient.

Speaks TAP.  The command asks PyTorch itself.  Here: of the whole `tiny` model, head apart
and tied, trained a few steps, every gradient is within 1e-12 of its tensor's largest entry;
of every operator every case is, but for the few tensors that are 0 by algebra or nearly,
which are named below; and a fault in the model's file, or in what PyTorch is asked, is seen.
"""
import json
import os
import random
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VITRINE = os.environ.get('VITRINE', os.path.join(ROOT, 'build/vitrine'))
PARAMETERS = 2 + 2 * 12 + 2         # tensors of tiny: embeddings, layers, the last norm
OPERATORS = {'softmax': 2, 'linear': 4, 'layernorm': 4, 'gelu': 2, 'attention': 4,
             'projected': 10, 'crossentropy': 2, 'block': 14, 'lab': 9}    # tensors of a case
tests = failures = 0


def report(good, what, note=''):
    global tests, failures
    tests += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', tests, what))
    if note and not good:
        print('# ' + str(note)[:2000])


def run(*words):
    done = subprocess.run([VITRINE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def check(*words):
    code, out, said = run('check', '--torch', '--json', *words)
    return code, json.loads(out) if out else {}, said


def tensors(found):
    return [dict(t, sizes=c['sizes']) for c in found['torch']['cases'] for t in c['tensors']]


def near(t):
    """By the numbers alone, not by the command's verdict."""
    return t['compared'] == t['of'] > 0 and t['relative'] is not None and 0 <= t['relative'] <= 1e-12


def model(folder, corpus, head):
    out = os.path.join(folder, head[2:])
    code, _, said = run('train', '--data', corpus, '--preset', 'tiny', '--steps', '40',
                        '--merges', '60', '--lr', '1e-2', head, '--out', out)
    report(code == 0, head + ': trained', said)
    for words in ([], ['--batch', '1', '--seq', '16', '--seed', '7']):
        code, found, said = check(out, *words, '--entries', '1', '--differences', '0')
        what = '%s %s: ' % (head, ' '.join(words))
        if not found:
            report(False, what + 'a report', said)
            continue
        t = found['torch']
        all_of_them = tensors(found)
        gradients = [x for x in all_of_them if x['name'] != 'loss']
        report(code == 0 and t['pass'] is True and found['pass'] is True, what + 'passes', said)
        report(len(gradients) == PARAMETERS + (head == '--untied') and
               sum(x['compared'] for x in gradients) == found['of'], what + 'every gradient')
        far = [x for x in all_of_them if not near(x)]
        report(not far, what + 'within 1e-12 of the largest', far)
        report(t['loss_difference'] is not None and t['loss_difference'] <= 1e-12,
               what + 'and the loss', t['loss_difference'])
    return out


def zero_by_algebra(op, t):
    """A softmax sees no shift of its scores; a norm over one channel sees nothing, and over
    two only a sign; so does what lies in front of it."""
    channels = re.search(r'\bC (\d+)', t['sizes'])
    few = channels is not None and int(channels.group(1)) <= 2
    return (op == 'projected' and t['name'] == 'dbk') or (few and op in ('layernorm', 'block', 'gpt'))


def operator(op, each, seed):
    code, found, said = check('--op', op, '--seed', seed)
    if not found:
        report(False, '%s: a report' % op, said)
        return
    all_of_them = tensors(found)
    cases = len(found['torch']['cases'])
    report(code == 0 and found['torch']['pass'] is True and cases == 20, '%s: passes' % op, said)
    report(each is None or len(all_of_them) == each * cases, '%s: every tensor' % op, len(all_of_them))
    far = [t for t in all_of_them if not near(t) and not zero_by_algebra(op, t)]
    report(not far, '%s: within 1e-12 of the largest' % op, far)
    if op in ('attention', 'projected'):
        kinds = ' '.join(c['sizes'] for c in found['torch']['cases'])
        report('causal, masked' in kinds and re.search(r'\d, masked', kinds) is not None and
               re.search(r'causal(?!,)', kinds) is not None, '%s: causal, masked, both' % op, kinds)


def faults(folder, out):
    """PyTorch asked for something else: the agreement above is no accident."""
    wrong = os.path.join(folder, 'wrong')
    for what, old, new in (
            ('no scale', '/ q.shape[3] ** 0.5', ''),
            ('a mask that starts at the top left', '.tril(S - T)', '.tril()'),
            ('the exact GELU', "approximate='tanh'", "approximate='none'"),
            ('another epsilon', '1e-5', '1.1e-5')):
        with open(wrong, 'w') as f:
            f.write("#!/usr/bin/python3\nimport sys\nsource = sys.argv[2]\nassert %r in source\n"
                    "sys.argv[:] = ['-c'] + sys.argv[3:]\n"
                    "exec(compile(source.replace(%r, %r), '-c', 'exec'))\n" % (old, old, new))
        os.chmod(wrong, 0o755)
        op = {'another epsilon': 'layernorm', 'the exact GELU': 'gelu'}.get(what, 'attention')
        code, found, said = check('--op', op, '--python', wrong)
        report(code == 1 and found['torch']['pass'] is False and 'PyTorch: ' in said, what + ' is seen', said)
        if 'top left' not in what:              # a model's attention is square
            code, found, said = check(out, '--python', wrong, '--entries', '1', '--differences', '0')
            report(code == 1 and found['pass'] is False, what + ' in a model', said)


def main():
    draw = random.Random(11)
    words = ['the', 'cat', 'saw', 'a', 'hat', 'sat', 'on', 'that', 'mat', 'caf\u00e9', 'grey', 'and', 'slow']
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, 'corpus.txt')
        with open(corpus, 'w', encoding='utf-8') as f:
            for _ in range(400):
                f.write(' '.join(draw.choice(words) for _ in range(draw.randrange(3, 12))) + '.\n')
        out = model(folder, corpus, '--untied')
        model(folder, corpus, '--tied')
        for op, each in OPERATORS.items():
            operator(op, each, '42')
        operator('gpt', None, '42')             # as many as it has layers
        operator('attention', 4, '18446744073709551615')
        faults(folder, out)
    print('1..%d' % tests)
    return 1 if failures else 0


raise SystemExit(main())
