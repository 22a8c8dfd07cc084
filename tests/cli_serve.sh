# cli_serve.sh -- vitrine serve: what is asked for in good faith is answered, and
# nothing else; a client that goes away takes nothing with it.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"

client() { python "$root/tests/http_client.py" "$@"; }
watches() { exec /usr/bin/python3 "$root/tests/http_client.py" watch "$@"; }     # while others ask
mkfifo .ask .status
/usr/bin/python3 "$root/tests/http_client.py" asks "$tmp" &
asker=$!
request() { printf '%s\0' "$port" "$@" > "$tmp/.ask"; read -r code < "$tmp/.status"; }
ask() { request "$@"; cat "$tmp/.answer"; }
status_of() { request "$@"; echo "$code"; }
body_of() { request "$@"; sed '1,/^$/d' "$tmp/.answer"; }
header() { request "$2" ${3+"$3"}; sed -n "/^\$/q; s/^$1: //p" "$tmp/.answer"; }
# One line of JSON with an error; $1 what it names.
names_error() {
    printf '%s' "$answer" | sed '1,/^$/d' > .out
    ok "valid JSON" is_json
    contains "$(key error)" "$1" "that names what was wrong"
}
# ARG...: starts a server; sets port and server.  SIGINT is as at a terminal: sh
# starts what runs behind it with the signal ignored.
serve() {
    : > address
    env --default-signal=INT "$vitrine" serve "$@" --json > address 2> log &
    server=$!
    for _ in $(seq 1200); do                # a minute
        [ ! -s address ] || break
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    port=$(sed 's/.*"port": \([0-9]*\).*/\1/' address)
}
stop() { kill -"$1" $server; wait $server; status=$?; }
trap 'kill $asker $server 2>/dev/null; chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
server=
descriptors() { ls /proc/$server/fd | wc -l; }
# Within a minute as many descriptors are open as $1 says.
settles() {
    for _ in $(seq 600); do
        [ "$(descriptors)" -gt "$1" ] || return 0
        sleep 0.1
    done
    echo "descriptors: $(descriptors), before: $1"; return 1
}

# TEXT: the stream that is watched has sent it, within a minute.
sent() {
    for _ in $(seq 600); do
        ! grep -qF "$1" stream 2>/dev/null || return 0
        sleep 0.1
    done
    echo "# not sent: $1"
}

mkdir -p www/data/lab elsewhere
echo '<h1>Overview</h1>' > www/index.html
echo '<h1>Lab</h1>' > www/data/lab/index.html
echo 'let x = 1' > www/app.js
printf '\000asm' > www/vitrine.wasm
echo 'caf\303\251' > "www/caf$(printf '\303\251') x.html"
echo marker > www/.vitrine-site
echo secret > secret
echo secret > elsewhere/secret
ln -s ../secret www/link.html
ln -s ../elsewhere www/folder
mkfifo www/pipe.html

# ---- words ------------------------------------------------------------------
exits 0 "--help" "$vitrine" serve --help
contains "$out" "vitrine serve build/www" "has an example"
refuses 2 "expected the folder of a site" "no folder" "$vitrine" serve
refuses 2 "--port" "a port that is none" "$vitrine" serve www --port 65536
refuses 2 "--port" "a port below 0" "$vitrine" serve www --port -1
refuses 2 "--port" "a word for a port" "$vitrine" serve www --port http
refuses 4 "absent" "a folder that is not there" "$vitrine" serve absent
refuses 4 "expected a folder" "a file for a folder" "$vitrine" serve secret
mkdir bare
refuses 4 "bare: has no index.html; expected a site (vitrine site --out bare makes one)" "a folder that is no site" \
    "$vitrine" serve bare --port 0
mkdir bare/index.html
refuses 4 "has no index.html" "nor is one with a folder of that name" "$vitrine" serve bare --port 0
refuses 4 "absent" "a run that is not there" "$vitrine" serve www --run absent --port 0
refuses 4 "absent" "a model that is not there" "$vitrine" serve www --model absent --port 0
mkdir broken && : > broken/libmicrohttpd.so.12
refuses 4 "the HTTP library cannot be loaded" "a library that is none" \
    env LD_LIBRARY_PATH="$tmp/broken" "$vitrine" serve www --port 0

# ---- files ------------------------------------------------------------------
serve www --port 0
contains "$(cat address)" "\"address\": \"http://127.0.0.1:$port/\"" "it prints its address"
contains "$(body_of 'GET / HTTP/1.1')" "<h1>Overview</h1>" "/ is index.html"
contains "$(body_of 'GET /data/lab/ HTTP/1.1')" "<h1>Lab</h1>" "so is a folder's"
is "$(header Location 'GET /data/lab?a=b HTTP/1.1')" "/data/lab/?a=b" "a folder is named with its slash"
is "$(status_of 'GET /app.js?x=../../secret HTTP/1.1')" 200 "a query is no path"
contains "$(body_of 'GET /caf%C3%A9%20x.html HTTP/1.1')" "caf" "a name is decoded"
is "$(header Content-Type 'GET / HTTP/1.1')" "text/html; charset=utf-8" "type of a page"
is "$(header Content-Type 'GET /app.js HTTP/1.1')" "text/javascript; charset=utf-8" "of a script"
is "$(header Content-Type 'GET /vitrine.wasm HTTP/1.1')" "application/wasm" "of a module"
is "$(header X-Content-Type-Options 'GET / HTTP/1.1')" "nosniff" "which is not guessed at"
contains "$(header Content-Security-Policy 'GET / HTTP/1.1')" "script-src 'self' 'wasm-unsafe-eval';" \
    "the policy: no script but the site's"
contains "$(header Content-Security-Policy 'GET / HTTP/1.1')" "frame-ancestors 'none'" "in no frame"
is "$(status_of 'GET /nothing.html HTTP/1.1')" 404 "what is not there"
lacks "$(body_of 'GET /%3Cb%3E HTTP/1.1')" "<b>" "is not repeated in the answer"
echo '<h1>No such page</h1>' > www/404.html
contains "$(body_of 'GET /nothing.html HTTP/1.1')" "No such page" "404.html is shown"
is "$(status_of 'GET /nothing.html HTTP/1.1')" 404 "with its status"

answer=$(ask 'HEAD /app.js HTTP/1.1')
is "$(echo "$answer" | head -n 1)" 200 "HEAD"
contains "$answer" "Content-Length: 10" "has the length"
lacks "$answer" "let x" "and no body"
tag=$(header ETag 'GET /app.js HTTP/1.1')
date=$(header Last-Modified 'GET /app.js HTTP/1.1')
is "$(status_of 'GET /app.js HTTP/1.1' "If-None-Match: $tag")" 304 "the copy that one has: by its tag"
is "$(status_of 'GET /app.js HTTP/1.1' "If-None-Match: \"a\", W/$tag")" 304 "in a list"
is "$(status_of 'GET /app.js HTTP/1.1' "If-None-Match: \"a\"")" 200 "not by another tag"
is "$(status_of 'GET /app.js HTTP/1.1' "If-Modified-Since: $date")" 304 "by its date"
is "$(date -u -d "$date" +%s)" "$(stat -c %Y www/app.js)" "which is the file's"
echo 'let x = 2' > www/app.js
is "$(status_of 'GET /app.js HTTP/1.1' "If-None-Match: $tag")" 200 "a file that changed is sent"
is "$(client keep "$port" / /app.js /nothing | tr '\n' ' ')" "200 new 200 same 404 same " \
    "one connection serves many requests"

for method in POST PUT DELETE OPTIONS TRACE BREW; do
    is "$(status_of "$method / HTTP/1.1")" 405 "$method of a page"
done
is "$(header Allow 'POST / HTTP/1.1')" "GET, HEAD" "and what is allowed"

# ---- HTTP-01, HTTP-02: no byte from outside the root -----------------------------
for target in '/%2e%2e/%2e%2e/etc/passwd' '/..%2f..%2fetc/passwd' '/%2e./secret' '/../secret' \
    '/data/../../secret' '/.%252e/secret' '../secret' 'secret' 'http://127.0.0.1/../secret' \
    '/..\\secret' '/..%5csecret' '/%00.html' '/index.html%00' \
    '/index.html\x00' '/index.html\x00.txt' '/\x00' '/app.js?\x00' '/app.js?a=b\x00c' '/link.html' '/folder/secret' \
    '//etc/passwd' '/data//lab/' '/./index.html' '/.vitrine-site' '/%2evitrine-site' '/%zz' '/%4' \
    '/pipe.html' "/$(printf '%01500d' 0)" '/data%2flab/' '/%0d%0aSet-Cookie:x'; do
    answer=$(ask "GET $target HTTP/1.1")
    case $(echo "$answer" | head -n 1) in 400|404) good=yes ;; *) good=no ;; esac
    is $good yes "HTTP-01, HTTP-02: $(echo "$target" | cut -c1-40): refused"
    lacks "$answer" secret "nothing is told"
done
is "$(status_of 'GET / HTTP/1.1')" 200 "and the server is there"

# ---- DNS rebinding ------------------------------------------------------------
is "$(status_of 'GET / HTTP/1.1' 'Host: evil.example')" 403 "another Host"
is "$(status_of 'GET / HTTP/1.1' "Host: 127.0.0.1.evil.example:$port")" 403 "that begins like ours"
is "$(status_of 'GET / HTTP/1.1' "Host: localhost:1$port")" 403 "another port"
is "$(status_of 'GET / HTTP/1.1' "Host: localhost:$port")" 200 "localhost is ours"
is "$(status_of 'GET / HTTP/1.1' "Host: [::1]:$port")" 200 "so is [::1], behind a forwarded port"
case $(status_of 'GET / HTTP/1.1' --no-host) in 400|403) good=yes ;; *) good=no ;; esac
is $good yes "no Host"
is "$(status_of 'GET / HTTP/1.1' 'Origin: http://evil.example')" 403 "another Origin"
is "$(status_of 'GET / HTTP/1.1' 'Origin: null')" 403 "no Origin of ours"
is "$(status_of 'GET / HTTP/1.1' "Origin: http://127.0.0.1:$port")" 200 "our own Origin"
for twice in "Host: localhost:$port" "Origin: http://localhost:$port" 'Content-Length: 0'; do
    name=${twice%%:*}
    for other in "$twice" "$name: 1"; do
        answer=$(ask 'GET / HTTP/1.1' "$twice" "$other")
        is "$(echo "$answer" | head -n 1)" 400 "two headers $twice, $other"
        names_error "$name"
    done
done
is "$(status_of 'GET / HTTP/1.1' "Host: localhost:$port" 'X: 1' 'X: 2')" 200 "other headers may stand twice"

# Who connects and says nothing keeps nobody out, and is shown the door.
before=$(descriptors)
is "$(client idle "$port" 200 300)" "200 closed" "200 connections without a request leave places, and are closed"
ok "no descriptor stays open" settles "$before"

# ---- without a run or a model ---------------------------------------------------
for target in run metrics; do
    answer=$(ask "GET /api/$target HTTP/1.1")
    is "$(echo "$answer" | head -n 1)" 404 "/api/$target without a run"
    names_error "--run"
done
is "$(status_of 'GET /api/generate HTTP/1.1')" 405 "/api/generate is asked with POST"
is "$(header Allow 'GET /api/generate HTTP/1.1')" "POST" "and says so"
answer=$(ask 'POST /api/generate HTTP/1.1' --body '{"prompt": "a"}')
is "$(echo "$answer" | head -n 1)" 404 "/api/generate without a model"
names_error "--model"

refuses 4 "port $port: is in use" "a port that is in use" "$vitrine" serve www --port "$port"
stop INT
is $status 130 "Ctrl-C ends it"
serve www --port "$port"
is "$(status_of 'GET / HTTP/1.1')" 200 "the same port can be had again at once"
stop TERM
is $status 130 "so does SIGTERM"
# The usual port, in use: another.  Where another test holds it, it soon lets go, and then it
# is ours; who keeps it does as well.
/usr/bin/python3 -c 'import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
until = time.monotonic() + 10
while time.monotonic() < until:
    try:
        s.bind(("127.0.0.1", 8173)); s.listen()
        break
    except OSError: time.sleep(0.02)
print("held", flush=True); time.sleep(600)' > held &
holder=$!
while [ ! -s held ]; do sleep 0.05; done
serve www
lacks " 8173 " " $port " "a usual port that is in use"
is "$(status_of 'GET / HTTP/1.1')" 200 "is replaced by one that is free"
stop TERM
kill $holder; wait $holder 2>/dev/null

# ---- a run in progress ----------------------------------------------------------
mkdir run
serve www --port 0 --run run
is "$(body_of 'GET /api/run HTTP/1.1')" \
    '{"step": null, "steps": null, "model": null, "settings": null, "last": null}' \
    "a run that has not begun"
watches "$port" /api/metrics '"loss": 4}' > stream &
watcher=$!
sent "text/event-stream"
printf '%s\n' "$(printf '{"step": 1,\r"loss": 5.5}')" 'no JSON' '{"step": 2, "loss": 5.25}' > run/metrics.jsonl
printf '%s' '{"step": 3, "lo' >> run/metrics.jsonl
sent '"step": 2'
lacks "$(body_of 'GET /api/run HTTP/1.1')" '"step": 3' "a line that is not whole is not shown"
echo 'ss": 5, "steps": 9}' >> run/metrics.jsonl
sent '"steps": 9'
body_of 'GET /api/run HTTP/1.1' > .out
is "$(key step) $(key steps) $(key settings)" "3 9 None" "before the first save the log says how far it is"
echo '{"step": 1, "loss": 4}' > run/new; mv run/new run/metrics.jsonl
wait $watcher
sed -n 's/^event: //p; s/^data: //p' stream > events
is "$(tr '\n' ' ' < events)" '{"step": 1, "loss": 5.5} {"step": 2, "loss": 5.25} {"step": 3, "loss": 5, "steps": 9} restart {} {"step": 1, "loss": 4} ' \
    "each line comes when it is whole, and a new log is said to be one"
contains "$(cat stream)" "Content-Type: text/event-stream" "as an event stream"
make_corpus corpus.csv 40
# One document, so that <|endoftext|> is soon improbable: this model speaks to the limit.
tail -n +2 corpus.csv > corpus.txt
exits 0 "a model" train --data corpus.txt --out model --steps 40 --warmup 5 --merges 8 --layers 2 \
    --d-model 96 --heads 4 --ff 384 --context 128 --seq 128 --batch 2 --json
cp model/manifest.json model/metrics.jsonl run/
body_of 'GET /api/run HTTP/1.1' > .out
is "$(key step) $(key steps) $(key settings.batch) $(key model.n_embd) $(key last.step)" \
    "40 40 2 96 40" "what run it is, and how far"
is "$(key last)" "$(tail -n 1 run/metrics.jsonl | /usr/bin/python3 -c 'import json; print(json.loads(input()))')" \
    "the last line"

# HTTP-08: clients that go away while a stream runs.
before=$(descriptors)
is "$(client leave "$port" 20 GET /api/metrics)" 20 "HTTP-08: 20 clients leave a stream of metrics"
ok "HTTP-08: no descriptor stays open" settles "$before"
is "$(status_of 'GET / HTTP/1.1')" 200 "HTTP-08: the next request is answered"
watches "$port" /api/metrics > stream &
watcher=$!
sent '"step": 40'
stop TERM
is $status 130 "it can be ended while a stream runs"
wait $watcher
contains "$(cat stream)" '"step": 40' "which had its lines"

# ---- generation -----------------------------------------------------------------
mkdir -p www/data
cp -r model www/data/playground
other=neon; case $("$vitrine" --version) in *neon*) other=avx2 ;; esac      # another processor's
refuses 2 "--isa $other: expected " "kernels that this processor has not" timeout 300 "$vitrine" serve www --port 0 --isa $other
refuses 2 "--isa $other: expected " "nor for a model that is named" timeout 300 "$vitrine" serve www --port 0 --model model --isa $other
serve www --port 0
words='{"prompt": "the", "max_tokens": 40, "temperature": 0.9, "top_k": 0, "top_p": 1, "seed": 7}'
body_of 'POST /api/generate HTTP/1.1' --body "$words" > lines
exits 0 "the same by the command" "$vitrine" generate model --prompt the --max-tokens 40 \
    --temperature 0.9 --top-k 0 --top-p 1 --seed 7 --json
text=$(key samples.0.text) tokens=$(key samples.0.tokens)
python -c 'import json, sys
lines = [json.loads(line) for line in open("lines", encoding="utf-8")]
print("".join(l.get("text", "") for l in lines)); print(lines[-1].get("done"), lines[-1].get("tokens"), file=sys.stderr)
' > said 2> ended
is "$(cat said)" "$text" "the site's own model says what the command says"
is "$(cat ended)" "True $tokens" "and as many tokens"
is "$(status_of 'POST /api/generate HTTP/1.1')" 400 "no body"

# GEN-03: whatever is sent, and whatever is drawn, JSON comes back.
for body in '{"prompt": "\xe5\x5c"}' '\xe5\x5c' '{"prompt": "a\x90"}' '\x90' '{"prompt": "a"' '[]' '3' \
    '{"prompt": 3}' '{"prompt": "\\ud800"}' '{"prompt": "a", "seed": -1}' '{"promt": "a"}' \
    '{"prompt": "a", "max_tokens": 1e9}' '{"prompt": "a", "max_tokens": 4097}' \
    '{"prompt": "a", "temperature": 1e999}' '{"prompt": "a", "top_p": 2}' '{"prompt": "a", "prompt": "b"}'; do
    answer=$(ask 'POST /api/generate HTTP/1.1' --body "$body")
    is "$(echo "$answer" | head -n 1)" 400 "GEN-03: refused: $body"
    names_error "body"
done
body_of 'POST /api/generate HTTP/1.1' --body \
    '{"prompt": "", "max_tokens": 400, "temperature": 1000, "top_p": 1}' > lines
ok "GEN-03: bytes that are no text come as JSON in UTF-8" python -c 'import json
text = "".join(json.loads(line).get("text", "") for line in open("lines", encoding="utf-8"))
assert "\ufffd" in text, text'
is "$(status_of 'POST /api/generate HTTP/1.1' --body '{"prompt": "\\u0000<|endoftext|>", "max_tokens": 1}')" 200 \
    "GEN-03: a NUL and a special token's spelling are text"

# HTTP-03: lengths.
long=$(printf '%070000d' 0)
is "$(status_of 'POST /api/generate HTTP/1.1' --body "{\"prompt\": \"$long\"}")" 413 "a body beyond 64 KiB"
for length in -268435455700 18446744073709551616 +5 5x '' '5, 6' 0x5; do
    answer=$(status_of 'POST /api/generate HTTP/1.1' "Content-Length: $length" --body '{"a"}')
    case $answer in 400|413) good=yes ;; *) good=no ;; esac
    is "$good" yes "HTTP-03: a Content-Length of '$length': $answer"
done
is "$(status_of 'POST /api/generate HTTP/1.1' 'Content-Length: 18446744073709551615')" 413 "a huge one"
answer=$(ask 'POST /api/generate HTTP/1.1' 'Transfer-Encoding: chunked' \
    --body "186a0\\r\\n$(printf '%0100000d' 0)\\r\\n0\\r\\n\\r\\n")
is "$(echo "$answer" | head -n 1)" 413 "a body in chunks beyond 64 KiB"
names_error "at most 65536 bytes"
contains "$(body_of 'POST /api/generate HTTP/1.1' 'Transfer-Encoding: chunked' --body \
    '10\r\n{"prompt": "the"\r\n13\r\n, "max_tokens": 1 }\r\n0\r\n\r\n')" '"done": true' "a body in chunks"
is "$(status_of 'POST /api/generate HTTP/1.1' 'Host: evil.example' --body "$words")" 403 "another Host"
is "$(status_of 'POST /api/generate HTTP/1.1' 'Origin: http://evil.example' --body "$words")" 403 "another Origin"

# HTTP-08 again: what nobody reads is not generated to its end.
# Under the sanitizers a token takes a hundred times as long.
tokens=4096
case $vitrine in */asan/*) tokens=200 ;; esac
long="{\"prompt\": \"the\", \"max_tokens\": $tokens, \"temperature\": 0}"
# The server's time of a processor, which a busy machine does not make longer: utime and stime,
# in ticks (proc(5)).
ticks() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }
began=$(ticks)
body_of 'POST /api/generate HTTP/1.1' --body "$long" | tail -n 1 > .out
whole=$(($(ticks) - began))
is "$(key tokens)" $tokens "one answer of $tokens tokens"
before=$(descriptors)
began=$(ticks)
is "$(client leave "$port" 20 POST /api/generate "$long")" 20 \
    "HTTP-08: 20 clients leave while it speaks"
ok "HTTP-08: no descriptor stays open" settles "$before"
contains "$(body_of 'POST /api/generate HTTP/1.1' --body '{"prompt": "the", "max_tokens": 3}')" \
    '"done": true' "HTTP-08: the next is answered, though only two at once are"
left=$(($(ticks) - began))
# To their ends, but for the last two, they would take eighteen times as much as one alone.
ok "HTTP-08: what nobody hears is not said" [ $left -lt $((whole * 5)) ]
show "one generation of $tokens tokens: $whole ticks of a processor; 20 of them, left after the headers: $left"
stop INT
is $status 130 "and the server was alive to be ended"
is "$(cat log)" "" "it complained about nothing"
finish
