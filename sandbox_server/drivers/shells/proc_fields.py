"""The beginning of scripts that read what processes are."""

FIELDS = """
fields_of() {
    fields=
    while read -r line; do fields=$line; done 2>/dev/null < "/proc/$1/stat"
    fields=${fields##*) }
    [ "$fields" ]
}
"""
"""A function for sh: `fields_of PID` sets `fields` to what /proc/PID/stat has behind the name, or fails.

Programs choose their name: it may hold anything, newlines, `) ` and patterns too.
"""
