#!/bin/sh
# The compiler's launcher for precompiled headers: without the old one. ccache would take its key from that, not from the headers that have changed since, and
# might hand out what another tree with the same past made of it.
previous=
for word in "$@"; do
  [ "$previous" = -o ] && rm -f "$word"
  previous=$word
done
exec "$@"
