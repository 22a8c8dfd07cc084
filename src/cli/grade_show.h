/* grade_show.h -- a grade for a reader: what is right, what is not yet, what to look at. */
#ifndef GRADE_SHOW_H
#define GRADE_SHOW_H

#include <stdio.h>
#include "vitrine.h"

void grade_show(FILE *f, const vt_grade_report *r);
/* The exercises, in the order in which they are learnt. */
void grade_show_list(FILE *f);
/* Hint n of an exercise, from 1. */
void grade_show_hint(FILE *f, const vt_exercise *e, size_t n);
size_t grade_hints(const vt_exercise *e);

#endif
