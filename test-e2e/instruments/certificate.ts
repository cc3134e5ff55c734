/** A self-signed certificate for localhost, made on the spot: no key lies in the repository, no program is needed. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8 = 0x0c;
const TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;

function der(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const ECDSA_SHA256 = der(SEQUENCE, der(OBJECT_ID, '2a8648ce3d040302'));
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const ALTERNATIVE_NAMES = '551d11';

/** PEM of both; valid for localhost and 127.0.0.1, from 2020 to 2099. */
export function selfSigned(): { key: string; certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8, Buffer.from('localhost')))));
  const authority = der(
    SEQUENCE,
    der(OBJECT_ID, BASIC_CONSTRAINTS),
    '0101ff',
    der(OCTET_STRING, der(SEQUENCE, '0101ff')),
  );
  const names = der(SEQUENCE, der(0x82, Buffer.from('localhost')), der(0x87, '7f000001'));
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, '02')),
    der(INTEGER, '01', randomBytes(8)),
    ECDSA_SHA256,
    name,
    der(SEQUENCE, der(TIME, Buffer.from('20200101000000Z')), der(TIME, Buffer.from('20990101000000Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, authority, der(SEQUENCE, der(OBJECT_ID, ALTERNATIVE_NAMES), der(OCTET_STRING, names)))),
  );
  const whole = der(SEQUENCE, body, ECDSA_SHA256, der(BIT_STRING, '00', sign('sha256', body, privateKey)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}
