import { expect, test } from 'vitest';
import { ENCODER, encoderFingerprint } from './encoder.ts';

test('canonical JSON is written here as everywhere', () => {
  expect(encoderFingerprint()).toBe(ENCODER);
  expect(encoderFingerprint(JSON.stringify)).not.toBe(ENCODER);
});
