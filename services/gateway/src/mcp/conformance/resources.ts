/** Resources at addresses of their own scheme. */
import { INVALID_PARAMS, McpError } from '../../domain/mcp-wire.ts';
import { PNG } from './content-tools.ts';
import type { Fields } from './fixture.ts';

export const SCHEME = 'test://';

const FIXED: readonly (Fields & { readonly uri: string; readonly contents: Fields })[] = [
  {
    uri: `${SCHEME}static-text`,
    name: 'static-text',
    description: 'A text.',
    mimeType: 'text/plain',
    contents: { text: 'This is the content of the static text resource.' },
  },
  {
    uri: `${SCHEME}static-binary`,
    name: 'static-binary',
    description: 'An image.',
    mimeType: 'image/png',
    contents: { blob: PNG },
  },
  {
    uri: `${SCHEME}watched-resource`,
    name: 'watched-resource',
    description: 'One to subscribe to.',
    mimeType: 'text/plain',
    contents: { text: 'Watched.' },
  },
];

export const LISTED_RESOURCES = FIXED.map(({ contents: _contents, ...shown }) => shown);
export const TEMPLATES = [
  {
    uriTemplate: `${SCHEME}template/{id}/data`,
    name: 'template',
    description: 'Data under an id.',
    mimeType: 'application/json',
  },
];

/** Throws McpError. */
export function readFixture({ uri }: Fields): Fields {
  const fixed = FIXED.find((each) => each.uri === uri);
  if (fixed !== undefined) return { contents: [{ uri, mimeType: fixed['mimeType'], ...fixed.contents }] };
  const id = typeof uri === 'string' ? /^test:\/\/template\/([^/]{1,100})\/data$/.exec(uri)?.[1] : undefined;
  if (id === undefined) throw new McpError(INVALID_PARAMS, 'Resource not found', { uri });
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: 'application/json', text: data }] };
}
