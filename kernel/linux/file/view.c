// SPDX-License-Identifier: GPL-2.0
/*
 * view.c - the pages of sets' views, and their mappings (2.2).
 *
 * The pages are mapped only into the address space that maps one first, because their contents are
 * valid for one thread only. Any other address space, also that of a forked child with the same
 * mapping, gets "empty_page" in place of them: a page with which every read takes a system call.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/xarray.h>

#include "compat.h"
#include "linux.h"

static struct page *empty_page;

int lx_views_init(void)
{
	empty_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return empty_page ? 0 : -ENOMEM;
}

void lx_views_exit(void)
{
	put_page(empty_page);
}

void lx_view_init_context(struct lx_context *lx)
{
	xa_init_flags(&lx->view.pages, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&lx->view.old_pages);
	lx->uid = current_euid();
}

/* --- allocating pages ----------------------------------------------------------------------- */

/* Allocates a page. page_private() holds the credentials of the user to which it is charged. */
static struct page *page_new(void)
{
	const struct cred *payer = lx_charge(PAGE_SIZE);
	struct page *page = payer ? alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO) : NULL;

	if (page)
		set_page_private(page, (unsigned long)payer);
	else if (payer)
		lx_uncharge(payer, PAGE_SIZE);
	return page;
}

static void page_free(struct page *page)
{
	const struct cred *payer = (const struct cred *)page_private(page);

	set_page_private(page, 0);
	put_page(page);
	lx_uncharge(payer, PAGE_SIZE);
}

pfm_set_view_t *lx_open_view(struct pfm_context *ctx, struct pfm_set *set)
{
	lx_of(ctx)->has_views = true;
	struct page *page = page_new();

	if (!page)
		return NULL;
	if (xa_err(xa_store(&lx_of(ctx)->view.pages, set->id, page, GFP_KERNEL_ACCOUNT))) {
		page_free(page);
		return NULL;
	}
	return page_address(page);
}

/*
 * A page that may still be mapped is not freed now: it stays charged until lx_views_free() is
 * called, when the context can have no more mappings.
 */
void lx_close_view(struct pfm_context *ctx, struct pfm_set *set)
{
	struct lx_context *lx = lx_of(ctx);
	struct page *page = xa_erase(&lx->view.pages, set->id);

	if (page_count(page) > 1)
		list_add(&page->lru, &lx->view.old_pages);
	else
		page_free(page);
}

void lx_views_free(struct lx_context *lx)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &lx->view.old_pages, lru) {
		list_del(&page->lru);
		page_free(page);
	}
	if (!xa_empty(&lx->view.pages))		/* a store that failed can leave nodes */
		xa_destroy(&lx->view.pages);
}

/* --- mapping pages --------------------------------------------------------------------------- */

static struct page *page_for(struct lx_context *lx, struct mm_struct *mm, unsigned long id)
{
	struct page *page = NULL;

	xa_lock(&lx->view.pages);
	if (READ_ONCE(lx->view.mm) == mm)
		page = xa_load(&lx->view.pages, id);
	if (!page)
		page = empty_page;
	get_page(page);
	xa_unlock(&lx->view.pages);
	return page;
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;

	vmf->page = page_for(vma->vm_private_data, vma->vm_mm, vmf->pgoff - PFM_VIEW_OFFSET(0, 0) / PAGE_SIZE);
	return 0;
}

const struct vm_operations_struct lx_view_ops = {
	.fault = view_fault,
};

bool lx_is_view(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff >= PFM_VIEW_OFFSET(0, 0) / PAGE_SIZE;
}

static int check_view(struct lx_context *lx, const struct vm_area_struct *vma)
{
	unsigned long id = vma->vm_pgoff - PFM_VIEW_OFFSET(0, 0) / PAGE_SIZE;

	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return pfm_refuse(-EINVAL, "a view is a page, %lu bytes", PAGE_SIZE);
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return pfm_refuse(-EINVAL, "a view is mapped PROT_READ, and nothing else");
	if (!xa_load(&lx->view.pages, id))
		return pfm_refuse(-EINVAL, "there is no view of set %lu: no such set, or no MAP_SETS", id);
	if (!uid_eq(current_euid(), lx->uid) && !lx_capable(CAP_PERFMON))
		return pfm_refuse(-EPERM, "the context is another user's");
	return 0;
}

int lx_map_view(struct lx_context *lx, struct vm_area_struct *vma)
{
	int ret = check_view(lx, vma);

	if (ret)
		return ret;
	pfm_vm_flags(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	cmpxchg(&lx->view.mm, NULL, vma->vm_mm);
	vma->vm_private_data = lx;
	vma->vm_ops = &lx_view_ops;
	return 0;
}
