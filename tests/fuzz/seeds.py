#!/usr/bin/python3
"""seeds.py -- the inputs that each fuzz target starts from.

usage: tests/fuzz/seeds.py FOLDER           writes FOLDER/TARGET/N

Small, and made by other hands than ours where there are any (NumPy, json, struct), so
that the fuzzer starts behind a format's first bytes.
"""
import hashlib, io, json, os, struct, sys, warnings
import numpy as np

def write(target, *inputs):
    folder = os.path.join(sys.argv[1], target)
    os.makedirs(folder, exist_ok=True)
    for n, data in enumerate(inputs):
        with open(os.path.join(folder, str(n)), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))

write('csv', 'id,text\n1,one\n2,"two\r\nthree ""four"""\n', '\ufeff"a,b",c\r\n,\r\n',
      'text\n\n""\nx', 'a,b\n\n1,2\n\n\n3,4', 'one,"""two"" x",3\n4,5,6', 'a\r\n"b"\r\n"c"',
      'id;text\n1;"a;b"\n', 'id\ttext\r\n1\tb c')
write('corpus', '0plain text \u00e9\n', '1text\none\n"two"\n', '3text,id\n"a ""b""",1\n\n,2\nc,3\n',
      '1\ufeffid,text\n1,"\u00e9\n"\n', b'0\xff\xfet\0', b'8a\xff\0', 'qid;text\n1;"a;b"\n')
write('jsonl', '{"text":"a"}\n\n{"id":[1,{}],"text":"\\u00e9\\ud83d\\ude0a\\n"}\r\n', '{"t\\u0065xt":"\\u0000"}',
      '{"a":-0.5e3,"b":{"text":null},"text":""}', '{"text":"\\ud83d"}', '{"text": "a", "text": "b"}',
      '{"a":01,"text":"x"}', '{"a":1.,"text":"x"}', '{"a":1e,"text":"x"}')
write('json', '{"a": [1, -2.5e-3, true, false, null, "x\\u00e9\\ud83d\\ude0a\\n"], "b": {}}',
      '[[[]], {"\u00e9": ""}, 1e308, -0.0, -0, 9223372036854775807]', ' [ 0.1 , 1E+2 ] ')
write('utf8', 'a\u00e9\u4e00\U0001f60a', b'\xed\xa0\x80\xf4\x90\xf0\x9f\x98', b'\xc0\x80\xe0\x80\x80\x1b\x7f')
write('target', '/attention.html?x=1', '/data/lab/', '/%2e%2e/%2e%2e/etc/passwd', '/a%20b/%c3%a9.js')
write('body', '{"prompt": "a", "max_tokens": 3, "temperature": 0.5, "top_k": 2, "top_p": 0.9, "seed": 1}',
      '{"prompt": ""}', '{"prompt": "\\ud83d\\ude0a", "seed": 9223372036854775807}')

# --- tensors ------------------------------------------------------------------

def safetensors(tensors, meta=None):
    header, data = {}, b''
    if meta is not None:
        header['__metadata__'] = meta
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = compact(header).encode()
    return struct.pack('<Q', len(text)) + text + data

two = safetensors({'a': ('F32', [2, 3], bytes(24)), 'b': ('U8', [1], b'x')}, {'k': 'v'})
def raw(header, data, length=None):
    text = header.encode()
    return struct.pack('<Q', len(text) if length is None else length) + text + data

def entry(name, shape, begin, end, dtype='U8'):
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'

a8 = entry('a', [8], 0, 8)
hostile = [                             # the rows ST-01 .. ST-05, and what is next to them
    raw(f'{{{a8},{entry("a", [4], 8, 12)}}}', bytes(12)), raw(f'{{{a8},{entry("b", [8], 4, 12)}}}', bytes(12)),
    raw(f'{{{a8},{entry("b", [4], 12, 16)}}}', bytes(16)), raw(f'{{{a8},{entry("b", [4], 9, 13)}}}', bytes(13)),
    raw(f'{{{a8},{entry("b", [8], 0, 8)}}}', bytes(16)), raw(f'{{{a8}}}', bytes(9)), raw(f'{{{a8}}}', bytes(12)), raw(f'{{{entry("a", [2, 3], 0, 20, "F32")}}}', bytes(20)),
    raw(f'{{{entry("a", [2**32, 2**32], 0, 0)}}}', b''), raw(f'{{{a8}}}', bytes(8), 2**63),
    raw(f'{{{a8}}}', bytes(8), 2**64 - 1), raw(f'{{{a8}}}', bytes(8), 0), raw('{}', b'', 1), bytes(7)]
write('safetensors', two, *hostile, safetensors({}), safetensors({'s': ('I64', [], bytes(8)), 'z': ('F64', [0, 4], b'')}),
      safetensors({'u': ('U8', [1], b'\1'), 'x': ('BF16', [2], bytes(4)), 'y': ('F16', [1, 1, 1], bytes(2))}))

def npz(compressed=False, **arrays):
    f = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(f, **arrays)
    return f.getvalue()

def npy(array, version=None):
    f = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        np.lib.format.write_array(f, array, version=version)
    return f.getvalue()

grid = np.arange(6, dtype='<f4').reshape(2, 3)
write('npz', npz(a=grid, b=np.array([1, -2], '>i2')), npz(True, x=np.zeros((40, 5)), s=np.array(True)),
      npy(np.asfortranarray(grid)), npy(np.array(2.5, '<f2'), (2, 0)), npy(np.arange(3, dtype='u8'), (3, 0)),
      two, npz(a=np.array([0.5], '<f8')))

# --- a model --------------------------------------------------------------------

def alphabet():
    """GPT-2's bytes_to_unicode: printable Latin-1 as it is, the rest from U+0100."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    n, out = 0, {}
    for b in range(256):
        out[b] = chr(b) if b in own else chr(256 + n)
        n += b not in own
    return out

def tokenizer(merges, pairs=False):
    spelled = alphabet()
    vocab = {spelled[b]: b for b in range(256)}
    for a, b in merges:
        vocab[a + b] = len(vocab)
    vocab['<|endoftext|>'] = len(vocab)
    return compact({
        'added_tokens': [{'id': len(vocab) - 1, 'content': '<|endoftext|>', 'special': True}],
        'pre_tokenizer': {'type': 'ByteLevel', 'add_prefix_space': False},
        'model': {'type': 'BPE', 'vocab': vocab,
                  'merges': [[a, b] if pairs else a + ' ' + b for a, b in merges]}})

write('tokenizer', tokenizer([]), tokenizer([('t', 'h'), ('th', 'e'), ('\u0120', 'the')]),
      tokenizer([('a', 'a'), ('aa', 'aa')], True),
      tokenizer([('a', 'b'), ('a', 'b')]), b'\xfea\xffabc', b'\xfe\x81ab\x80c\xff\x05\x00\x00\x04\x01\x00ab', b'\xfe\x81ab\x80c\xff\x06\x00\x00\x01\x58\x59',
      b'aath\x80e\x81\x80\xffaaaaa the they\'re 12 \n\n  \xc3\xa9', b'\xe3\x81aa\x80\x80\xffaaaaaaaaaaaaa')

sizes = {'activation_function': 'gelu_new', 'n_layer': 1, 'n_embd': 1, 'n_head': 1, 'n_inner': 1,
         'n_positions': 2, 'vocab_size': 257, 'tie_word_embeddings': True}
write('config', compact(sizes), compact({**sizes, 'n_layer': 2147483647, 'n_embd': 700000000, 'n_inner': None}),
      compact({**sizes, 'n_layer': 2147483647, 'n_embd': 32768, 'n_inner': 32768}),
      compact({**sizes, 'tie_word_embeddings': False, 'n_head': 3, 'n_embd': 12, 'vocab_size': 50257}))

settings = dict(preset='tiny', layers=1, d_model=1, heads=1, ff=1, context=2, tied=True, init='xavier',
                activation='gelu_new', merges=0, seq=2, stride=2, batch=1, accumulate=1, steps=4, lr=1e-3,
                lr_min=1e-4, warmup=1, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01, clip=1.0, seed=42)
run = {'step': 2, 'kernels': 'portable', 'model': sizes, 'settings': settings,
       'corpus': {'sha256': '0' * 64, 'tokens_sha256': 'f' * 64, 'documents': 1, 'train_tokens': 9,
                  'val_tokens': 3}}
write('run', compact(run), compact({**run, 'step': 4, 'settings': {**settings, 'seed': 2**63 - 1, 'steps': 2**40}}))

C, T, V = 1, 2, 257
parts = {'wte.weight': [V, C], 'wpe.weight': [T, C], 'ln_f.weight': [C], 'ln_f.bias': [C],
         **{'h.0.' + n: s for n, s in {
             'ln_1.weight': [C], 'ln_1.bias': [C], 'attn.c_attn.weight': [C, 3 * C], 'attn.c_attn.bias': [3 * C],
             'attn.c_proj.weight': [C, C], 'attn.c_proj.bias': [C], 'ln_2.weight': [C], 'ln_2.bias': [C],
             'mlp.c_fc.weight': [C, C], 'mlp.c_fc.bias': [C], 'mlp.c_proj.weight': [C, C],
             'mlp.c_proj.bias': [C]}.items()}}
state = {}
for prefix in 'param.', 'adam.m.', 'adam.v.':
    for name, shape in parts.items():
        state[prefix + 'transformer.' + name] = ('F32', shape, bytes(4 * int(np.prod(shape))))
nan = dict(state)
nan['adam.m.transformer.ln_f.bias'] = ('F32', [1], struct.pack('<f', float('nan')))
state['check.window'] = ('I32', [2], struct.pack('<2i', 1, 256))
text, words = compact(run), tokenizer([])
seal = hashlib.sha256(f'{text}\0{words}\0'.encode())
for name, (_, _, raw) in state.items():
    seal.update(name.encode() + b'\0' + raw)
meta = {'format': 'vitrine-state-1', 'run': text, 'tokenizer': words, 'sha256': seal.hexdigest()}
write('checkpoint', safetensors(state, meta), safetensors(nan, meta), safetensors(state, {**meta, 'tokenizer': '{}'}))

empty, x = hashlib.sha256(b'').hexdigest(), hashlib.sha256(b'x').hexdigest()
files = {'state.safetensors': empty, 'model.safetensors': empty, 'config.json': empty, 'tokenizer.json': x}
write('manifest', compact({'files': files}), compact({'vitrine': {}, 'files': {**files, 'config.json': x}}))

# An ELF header of this machine's kind with one segment, by struct alone.
elf = struct.pack('<4sBBBB8xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
write('elf', elf + struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, 120, 120, 4096), elf[:40])
