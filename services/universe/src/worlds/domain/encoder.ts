/** The writing of canonical JSON, proved by what it makes of one value that holds everything that is written in two ways. */
import { hash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';

const PROBE = String.raw`{"":"","a":[null,true,false,0,-0,1,-1,0.1,1e-7,1e21,9007199254740991,333333333.3333333],"z":"\u0000\u001f\"\\/\u2028","\u20ac":{"b":1,"a":2},"\ud83d\ude00":"\u00e9","\ufb33":"e\u0301"}`;

/** Of every node whose ids are those of the others. */
export const ENCODER = '0d2b2039fec2510ccb280c2ebb9df56ac3c216a123ca5b992acdfa240704d05b';

export function encoderFingerprint(encode: (value: unknown) => string = canonicalJson): string {
  return hash('sha256', encode(JSON.parse(PROBE)));
}
