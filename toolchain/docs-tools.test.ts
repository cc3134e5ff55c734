import { describe, expect, test } from 'vitest';
import { gatewayTools } from '../services/gateway/src/service.ts';
import { toolsPage } from './docs-tools.ts';
import { prose } from './markdown.ts';
import { typeText } from './schema-text.ts';

describe('the names of types', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [
      {
        anyOf: [
          { type: 'string', maxLength: 3 },
          { type: 'array', items: { type: 'string' } },
        ],
      },
      'string or string[]',
    ],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, '(string or null)[]'],
    [{ enum: ['a', 'b'] }, '"a" or "b"'],
    [{ const: true }, 'true'],
    [{ type: 'object', properties: { a: {}, b: {} }, required: ['a'] }, '{a, b?}'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'object of number'],
    [{ $ref: '#/$defs/Node' }, 'Node'],
    [{}, 'any'],
  ])('%j is %s', (schema, text) => {
    expect(typeText(schema)).toBe(text);
  });
});

test('a name in angle brackets stays visible, in text and in code', () => {
  expect(prose('from <id> or `<id>`')).toBe('from \\<id> or `<id>`');
});

describe('docs/tools.md', () => {
  test('does not depend on the order of the declarations', () => {
    const page = (tools: typeof gatewayTools) => toolsPage([{ service: 'gateway', tools }]);
    expect(page(gatewayTools.toReversed())).toBe(page(gatewayTools));
  });

  test('says everything about a tool', () => {
    const text = toolsPage([{ service: 'gateway', tools: gatewayTools }]);
    const section = text.slice(text.indexOf('### tool_describe'), text.indexOf('### tool_search'));
    expect(section).toContain('Access `public` · effect `read`');
    expect(section).toContain('| `names` | string or string[] | yes | Names of tools. |');
    expect(section).toContain('Also accepted: `name` for `names`.');
    expect(section).toContain('| `unknown` | {name, nearest}[] |');
    expect(section).toContain('"tool_search"');
  });
});
