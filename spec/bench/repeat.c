/* SPDX-License-Identifier: MIT */
/*
 * repeat.c - lengthens a recording of perf record: writes its samples again and again, each time
 * later.
 *   repeat IN OUT SAMPLES
 * All other records (mappings, names) come once, with the first round. Prints how many samples OUT
 * holds.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct section {
	uint64_t offset, size;
};

struct head {	/* perf.data-file-format: struct perf_header */
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

enum { FINISHED_ROUND = 68 };

static char *text;
static size_t length, time_at;	/* time_at: the offset of the time in a sample */
static FILE *out;

static void fail(const char *what)
{
	fprintf(stderr, "repeat: %s\n", what);
	exit(1);
}

static void read_all(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		fail(path);
	length = (size_t)ftell(f);
	text = malloc(length);
	rewind(f);
	if (!text || fread(text, 1, length, f) != length)
		fail(path);
	fclose(f);
}

static void put(const void *bytes, size_t n)
{
	if (fwrite(bytes, 1, n, out) != n)
		fail("cannot write");
}

/* Computes the offset of the time in a sample (perf_event_open(2)). */
static void find_time(const struct head *h)
{
	struct perf_event_attr attr = { 0 };

	if (h->attrs.size != h->attr_size)
		fail("one event is expected");
	memcpy(&attr, text + h->attrs.offset, sizeof(attr) < h->attr_size ? sizeof(attr) : h->attr_size);
	if (!(attr.sample_type & PERF_SAMPLE_TIME))
		fail("the samples have no time");
	time_at = sizeof(struct perf_event_header);
	for (uint64_t bit = PERF_SAMPLE_IP; bit < PERF_SAMPLE_TIME; bit <<= 1)
		time_at += attr.sample_type & bit ? sizeof(uint64_t) : 0;
	time_at += attr.sample_type & PERF_SAMPLE_IDENTIFIER ? sizeof(uint64_t) : 0;
}

static uint64_t time_of(const char *sample)
{
	uint64_t t;

	memcpy(&t, sample + time_at, sizeof(t));
	return t;
}

/* Returns the ns from the first sample to behind the last; adds the number of samples to *n. */
static uint64_t span(const struct head *h, uint64_t *n)
{
	uint64_t from = UINT64_MAX, to = 0;
	struct perf_event_header r;

	for (uint64_t at = h->data.offset; at < h->data.offset + h->data.size; at += r.size) {
		memcpy(&r, text + at, sizeof(r));
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		uint64_t t = time_of(text + at);

		from = t < from ? t : from;
		to = t > to ? t : to;
		++*n;
	}
	return to - from + 1;
}

static uint64_t put_round(const struct head *h, uint64_t round, uint64_t later)
{
	struct perf_event_header r;
	uint64_t written = 0;

	for (uint64_t at = h->data.offset; at < h->data.offset + h->data.size; at += r.size) {
		memcpy(&r, text + at, sizeof(r));
		if (r.type == PERF_RECORD_SAMPLE) {
			uint64_t t = time_of(text + at) + round * later;

			memcpy(text + at + time_at, &t, sizeof(t));
			put(text + at, r.size);
			t -= round * later;
			memcpy(text + at + time_at, &t, sizeof(t));
		} else if (!round || r.type == FINISHED_ROUND) {
			put(text + at, r.size);
		} else {
			continue;
		}
		written += r.size;
	}
	return written;
}

/* Writes the features, which follow the samples: a table of sections, then their contents. */
static void put_features(const struct head *h, uint64_t moved)
{
	uint64_t at = h->data.offset + h->data.size;
	int n = 0;

	for (int i = 0; i < 4; i++)
		n += __builtin_popcountll(h->features[i]);
	for (int i = 0; i < n; i++, at += sizeof(struct section)) {
		struct section s;

		memcpy(&s, text + at, sizeof(s));
		s.offset += moved;
		put(&s, sizeof(s));
	}
	put(text + at, length - at);
}

int main(int argc, char **argv)
{
	struct head h;
	uint64_t n = 0, rounds, later, old;

	if (argc != 4)
		fail("IN OUT SAMPLES are wanted");
	read_all(argv[1]);
	if (length < sizeof(h))
		fail("too short");
	memcpy(&h, text, sizeof(h));
	if (memcmp(h.magic, "PERFILE2", 8))
		fail("not a recording of perf");
	find_time(&h);
	later = span(&h, &n);
	if (!n)
		fail("no samples");
	rounds = (strtoull(argv[3], NULL, 10) + n - 1) / n;
	out = fopen(argv[2], "wb");
	if (!out)
		fail(argv[2]);
	put(text, h.data.offset);
	old = h.data.size;
	uint64_t written = 0;

	for (uint64_t i = 0; i < rounds; i++)
		written += put_round(&h, i, later);
	put_features(&h, written - old);
	h.data.size = written;
	rewind(out);
	put(&h, sizeof(h));
	if (fclose(out))
		fail("cannot write");
	printf("%llu\n", (unsigned long long)(n * rounds));
	return 0;
}
