/* csv.h -- records of a CSV text (RFC 4180), one after the other.
 *
 *     csv c;
 *     csv_open(&c, data, len, ',', false, path, err);     reads the header
 *     csv_column(&c, "text", &column, err);
 *     while (csv_next(&c, &more, err) == VT_OK && more)
 *         use(c.fields[column]);
 *     csv_close(&c);
 */
#ifndef CSV_H
#define CSV_H

#include <stdint.h>
#include "base/slice.h"
#include "base/status.h"

typedef struct csv {
    const char *name;       /* of the file, for messages; borrowed */
    char        separator;  /* what parts cells */
    bool        no_header;  /* the first line is a record, too */
    bool        held;       /* it was read, and is not given out yet */
    unsigned char *data;    /* borrowed; doubled quotes are undone in place */
    size_t      len, pos;   /* pos: the next record's first byte */
    size_t      record;     /* first byte of the record in `fields` */
    size_t      opened;     /* and of the quoted cell read last */
    slice      *header;     /* the first record: the columns' names; how many there are */
    size_t      columns;
    slice      *fields;     /* of the record read last, `columns` of them */
    size_t      block;      /* a multiple of 64, and which of the 64 bytes there may end */
    uint64_t    ends;       /* an unquoted cell */
} csv;

/* The separator that a text names: one ASCII character that is no quote, CR or LF, or the
 * word "tab"; false where it names none. */
bool csv_separator(const char *text, char *separator);

/* Starts at data[0 .. len-1], which the reader changes and which must outlive
 * every field; removes a byte order mark, then reads the header (which with
 * `no_header` csv_next gives out first).  VT_BAD_INPUT where the text is empty or
 * its first record is malformed. */
VT_MUST_CHECK vt_status csv_open(csv *c, unsigned char *data, size_t len, char separator,
                                 bool no_header, const char *name, vt_error *err);
void csv_close(csv *c);         /* also of a zeroed csv */

/* Index of the column of that name or, where none has it, of that number from 1.
 * NULL: the one called "text" or, without a header, the first.  VT_BAD_INPUT: the
 * error lists the columns there are, and says what may be meant; VT_USAGE: a name, and
 * there are none. */
VT_MUST_CHECK vt_status csv_column(const csv *c, const char *column, size_t *index,
                                   vt_error *err);
/* The columns' names as "a, b, c" (cut where they are many, or long) into text[cap]. */
void csv_list_columns(const csv *c, char *text, size_t cap);

/* The next record into c->fields; *more is false at the end, where fields hold
 * nothing.  VT_BAD_INPUT names the line (and byte): an unclosed quote the line
 * where it opened, text behind a closing quote (that, too), a quote or a lone carriage
 * return inside an unquoted field, a record with other than `columns` fields. */
VT_MUST_CHECK vt_status csv_next(csv *c, bool *more, vt_error *err);

/* The line, from 1, that holds byte `at` (counted from the start: for messages). */
size_t csv_line(const csv *c, size_t at);

#endif
