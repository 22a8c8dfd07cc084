"""torch_lab.py -- vitrine lab --torch: PyTorch agrees with the lab's gradients.

Speaks TAP.  The command asks PyTorch itself; here, that it agrees for several seeds,
one and two heads and several temperatures, and to the digits that the published run
reports (at most 2.2e-16, seed 0; within a factor of two here, since the order of sums
is another).
"""
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VITRINE = os.environ.get('VITRINE', os.path.join(ROOT, 'build/vitrine'))
NAMES = ['dWq', 'dWk', 'dWv', 'dWo', 'dX']
tests = failures = 0


def report(good, what, note=''):
    global tests, failures
    tests += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', tests, what))
    if note and not good:
        print('# ' + note)


def lab(*options):
    done = subprocess.run([VITRINE, 'lab', '--torch', '--json', *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


for options in ([], ['--heads', '2'], ['--temperature', '0.5', '--seed', '1'],
                ['--temperature', '2', '--heads', '2', '--seed', '12345'],
                ['--seed', '18446744073709551615']):
    code, found, said = lab(*options)
    t = found.get('torch', {})
    report(code == 0 and t.get('pass') is True and t['compared'] == t['of'] == 184
           and list(t['largest_difference']) == NAMES
           and all(0 <= t['largest_difference'][n] <= 1e-13 for n in NAMES)
           and abs(t['loss'] - found['loss']) <= 1e-13,
           'agrees: %s' % ' '.join(options), '%d %s %s' % (code, said, t))
    if not options:
        report(all(t['largest_difference'][n] <= 4.5e-16 for n in NAMES),
               'to the published digits', str(t))
code, found, said = lab('--dtype', 'float32')
report(code == 1 and found['torch']['pass'] is True
       and all(1e-9 < found['torch']['largest_difference'][n] < 1e-5 for n in NAMES),
       'in float32: to a float', said)
print('1..%d' % tests)
raise SystemExit(failures > 0)
