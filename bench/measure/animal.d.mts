/** For the type check, which knows nothing of plain JavaScript: see animal.mjs. */
export function animal(id: number): { readonly name: string; readonly categoryId: number; readonly status: string };
