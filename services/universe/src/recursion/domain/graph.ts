/** Data that callers pass: nested objects, or a graph by ids, as nodes that lead to others. */

/** `value` is there only when the node has one. */
export interface Node {
  readonly id: string;
  readonly value?: unknown;
  /** What the node is beside what it leads to. */
  readonly item: unknown;
  /** The nodes it leads to, in their order; a string is one that there is not. */
  readonly below: readonly Reference[];
}

/** Reading it gives the node, or null when there is none of that id. */
export interface Reference {
  readonly id: string;
  read(): Node | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Null = neither of the two forms. */
export function rootOf(data: unknown): Reference | null {
  if (!isObject(data)) return null;
  const { start, nodes } = data;
  if (!isObject(nodes)) return nestedAt(data, '$');
  return typeof start === 'string' ? namedIn(nodes, start) : null;
}

function nestedAt(fields: Fields, path: string): Reference {
  const { id: own } = fields;
  const id = typeof own === 'string' || typeof own === 'number' ? String(own) : path;
  return { id, read: () => nodeOf(fields, id, (child, place) => nestedIn(child, `${path}.${place}`)) };
}

function nestedIn(child: unknown, path: string): Reference {
  return isObject(child) ? nestedAt(child, path) : { id: path, read: () => null };
}

function namedIn(nodes: Fields, id: string): Reference {
  return {
    id,
    read() {
      const fields = Object.hasOwn(nodes, id) ? nodes[id] : undefined;
      if (!isObject(fields)) return null;
      return nodeOf(fields, id, (child) => namedIn(nodes, typeof child === 'string' ? child : JSON.stringify(child)));
    },
  };
}

function nodeOf(fields: Fields, id: string, refer: (child: unknown, place: string) => Reference): Node {
  const { next, children, ...rest } = fields;
  const below = [
    ...(next === undefined || next === null ? [] : [refer(next, 'next')]),
    ...(Array.isArray(children) ? children.map((child: unknown, at) => refer(child, `children[${at}]`)) : []),
  ];
  const node = { id, item: { ...rest, id }, below };
  return Object.hasOwn(fields, 'value') ? { ...node, value: fields['value'] } : node;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
