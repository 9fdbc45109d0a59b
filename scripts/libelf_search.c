/* The search tree that libelf.a of elfutils 0.192 (Debian 13) refers to and does not hold:
 * https://sourceware.org/bugzilla/show_bug.cgi?id=32293. Linked only where it is missing.
 * elfutils keeps a lock behind the root; one thread at a time uses an ELF file here. */
#define _GNU_SOURCE
#include <search.h>
#include <stddef.h>

struct tree {
	void *root;
};

void eu_search_tree_init(struct tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}

void *eu_tsearch(const void *key, struct tree *tree, int (*compare)(const void *, const void *))
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct tree *tree, int (*compare)(const void *, const void *))
{
	return tdelete(key, &tree->root, compare);
}
