// The animals of every target: about 67 bytes of JSON each, a third of each status.
const statuses = ['sold', 'available', 'pending'];

/** The animal with this id. */
export function animal(id) {
  return { name: `Animal ${id}`, categoryId: 1 + (id % 10), status: statuses[id % 3] };
}
