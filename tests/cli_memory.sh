# cli_memory.sh -- the memory that train announces is what it takes, also while it
# saves and resumes.
# asan: no, the sanitizer's own memory would be counted
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
make_corpus c.csv 40

# Announced, and the kernel's count of the peak, both in MB; 16 MB are allowed for
# the program, its libraries and the text.  A copy of the state would be 38 MB, of
# the model 13 MB.
cat > measure.py <<'END'
import re, resource, subprocess, sys
text = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE).stdout.decode()
announced = float(re.search(r"\), ([0-9.]+) MB of memory", text).group(1))
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
print("announced %.0f MB, peak %.0f MB" % (announced, peak))
sys.exit(not 50 < announced < 150 or not peak < announced + 16)
END
measure() { exits 0 "$name" /usr/bin/python3 measure.py "$vitrine" "$@"; show "$name: $out"; }
for head in tied untied; do
    name=$head
    measure train --data c.csv --preset tiny --$head --layers 4 --d-model 256 --steps 2 \
        --stop-at 1 --threads 2 --out $head
    name="$head, resumed"
    measure train --data c.csv --threads 2 --out $head --resume
done
finish
