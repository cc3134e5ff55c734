import { expect, test } from 'vitest';
import { argvOf } from './prompt.ts';

test.each([
  ['status --json', 'status --json'],
  ['svc status', 'status'],
  ['branch', 'branch'],
  ['help call', 'help call'],
  ['--version', '--version'],
  ['svc_search query=x', 'call svc_search query=x'],
  ['sttaus', 'call sttaus'],
])('%s at the prompt is svc %s', (line, argv) => {
  expect(argvOf(line.split(' ')).join(' ')).toBe(argv);
});
