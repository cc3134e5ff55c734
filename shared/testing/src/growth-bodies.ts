/** Bodies of the nasty kinds at any size, as a door is sent them. */
import { numbered, repeated, type TextOfSize } from './growth-texts.ts';

/** A call of a tool that answers with its arguments. */
export const called = (args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe_echo","arguments":${args}}}`;
const digits = (size: number): string => '1'.repeat(size);

/** UTF-16 units that still fit into a body. */
export const BODY_SIZE = 1_500_000;

export const NASTY_BODIES: readonly (readonly [name: string, TextOfSize])[] = [
  ['brackets', (size) => '['.repeat(size)],
  ['brackets that close', (size) => '['.repeat(size / 2) + ']'.repeat(size / 2)],
  ['objects in each other', (size) => repeated('{"a":', size)],
  ['members', (size) => called(`{${numbered(size, (at) => `"k${at}":1,`)}"last":1}`)],
  ['one name again and again', (size) => called(`{${repeated('"k":1,', size - (size % 6))}"last":1}`)],
  ['items', (size) => called(`{"a":[${repeated('1,', size)}1]}`)],
  ['digits', (size) => called(`{"a":${digits(size)}}`)],
  ['backslashes', (size) => called(`{"text":"${'\\'.repeat(size - (size % 2))}"}`)],
  ['escaped quotes', (size) => called(`{"text":"${repeated('\\"', size)}"}`)],
  ['backslashes without an end', (size) => `{"a":"${repeated('\\"', size)}`],
  ['blanks', (size) => called('{}') + ' '.repeat(size)],
];
