/** Tools that answer with content of every kind. */
import { type Fields, type Fixture, said, text } from './fixture.ts';

/** One red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A header and no sound. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const image = { type: 'image', data: PNG, mimeType: 'image/png' };

function resource(uri: string, mimeType: string, value: string) {
  return { type: 'resource', resource: { uri, mimeType, text: value } };
}

/** Written as text, because an object with a member `then` is easily taken for a promise. */
const CONDITION = JSON.parse(`{
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]}
}`) as Fields;

const JSON_SCHEMA: Fields = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  ...CONDITION,
  additionalProperties: false,
};

export const CONTENT_TOOLS: readonly Fixture[] = [
  {
    name: 'test_simple_text',
    description: 'Answers with a text.',
    run: () => said('This is a simple text response for testing.'),
  },
  { name: 'test_image_content', description: 'Answers with an image.', run: () => ({ content: [image] }) },
  {
    name: 'test_audio_content',
    description: 'Answers with a sound.',
    run: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  {
    name: 'test_embedded_resource',
    description: 'Answers with a resource.',
    run: () => ({
      content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  },
  {
    name: 'test_multiple_content_types',
    description: 'Answers with a text, an image and a resource.',
    run: () => ({
      content: [
        text('Multiple content types test:'),
        image,
        resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  },
  {
    name: 'test_error_handling',
    description: 'Fails.',
    run: () => ({ ...said('This tool intentionally returns an error for testing'), isError: true }),
  },
  {
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema with the words of JSON Schema 2020-12.',
    inputSchema: JSON_SCHEMA,
    run: () => said('The schema is what matters.'),
  },
  {
    name: 'test_custom_header',
    description: 'Wants an argument in a header too.',
    inputSchema: {
      type: 'object',
      properties: { value: { type: 'string', 'x-mcp-header': 'Value' } },
      additionalProperties: false,
    },
    run: ({ value }) => said(`value: ${String(value)}`),
  },
  {
    name: 'greet',
    description: 'Greets; never a task.',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    run: ({ name }) => said(`Hello, ${String(name)}!`),
  },
];
