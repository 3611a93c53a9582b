/** Types of animal.mjs. */
export interface Animal {
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

export function animal(id: number): Animal;
