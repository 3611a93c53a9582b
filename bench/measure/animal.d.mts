/** Types of animal.mjs. */
export function animal(id: number): { readonly name: string; readonly categoryId: number; readonly status: string };
