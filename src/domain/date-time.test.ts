import assert from 'node:assert/strict';
import test from 'node:test';
import { parseTime } from '../program/flags.ts';
import { readJson, type JsonObject } from '../json/read.ts';
import { timeMember } from '../file-engine/files/members.ts';
import { readDateTime } from './date-time.ts';
import { readOrder } from './order.ts';

const times: [text: string, time: string][] = [
  ['1985-04-12T23:20:50.52Z', '1985-04-12T23:20:50.520Z'], // these five are in RFC 3339, section 5.8
  ['1996-12-19T16:39:57-08:00', '1996-12-20T00:39:57.000Z'],
  ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
  ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
  ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.870Z'],
  ['1998-12-31T18:59:60-05:00', '1999-01-01T00:00:00.000Z'],
  ['1999-01-01T05:29:60.25+05:30', '1999-01-01T00:00:00.250Z'],
  ['1972-06-30T23:59:60z', '1972-07-01T00:00:00.000Z'],
  ['2016-12-31t23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2097-07-01T23:58:60+23:59', '2097-07-01T00:00:00.000Z'],
  ['2027-01-31T23:59:59.999999999Z', '2027-01-31T23:59:59.999Z'],
  ['2028-02-29T00:00:00-00:00', '2028-02-29T00:00:00.000Z'],
  ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
  ['0000-01-01T00:00:00+23:59', '-000001-12-31T00:01:00.000Z'],
  ['9999-12-31T23:59:59-23:59', '+010000-01-01T23:58:59.000Z'],
];

const refused = [
  '2027-01-31T24:00:00Z', '2027-01-31T24:00:00.000Z', '2027-01-31T24:00:01Z', '2027-01-31T25:00:00Z',
  '1998-12-31T23:58:60Z', '1998-12-31T22:59:60Z', '1998-12-30T23:59:60Z', '1998-03-31T23:59:60Z',
  '1998-09-30T23:59:60Z', '1998-06-29T23:59:60Z', '1998-12-31T23:59:60-05:00', '1998-12-31T18:59:60+05:00',
  '1998-12-31T18:58:60-05:00', '1998-12-31T23:59:61Z', '1971-12-31T23:59:60Z', '1968-06-30T23:59:60Z',
  '2027-02-29T00:00:00Z', '2027-04-31T00:00:00Z', '2027-00-10T00:00:00Z', '2027-13-01T00:00:00Z',
  '2027-01-00T00:00:00Z', '2027-01-31T12:60:00Z', '2027-01-31T12:00:00+24:00', '2027-01-31T12:00:00+01:60',
  '2027-01-31T12:00:00', '2027-01-31 12:00:00Z', '2027-01-31T12:00:00,5Z', '2027-01-31T12:00:00.Z',
  '2027-01-31T12:00:00Z\n', ' 2027-01-31T12:00:00Z', '2027-01-31T12:00:00+0100', '20270131T120000Z', '2027-01-31', '',
];

const member = (text: string): JsonObject => readJson(Buffer.from(JSON.stringify({ at: text }))) as JsonObject;

test('a date-time is one of RFC 3339, and a second 60 must be able to be a leap second', () => {
  for (const [text, time] of times) assert.equal(new Date(readDateTime(text)!).toISOString(), time, text);
  for (const text of refused) assert.equal(readDateTime(text), null, JSON.stringify(text));
});

test('this holds wherever a date-time is read: in orders, in --expires, and in the files', () => {
  const order = (shipDate: string): JsonObject => readJson(Buffer.from(JSON.stringify({
    id: 1, petId: 1, quantity: 1, shipDate, status: 'placed', complete: true,
  }))) as JsonObject;
  for (const [text, time] of times) {
    assert.equal(readOrder(order(text)).shipDate, text);
    assert.equal(parseTime('--expires', text, 0), Date.parse(time));
    assert.equal(timeMember(member(text), 'at'), Date.parse(time));
  }
  for (const text of refused) {
    assert.throws(() => readOrder(order(text)), /^Error: shipDate must be an RFC 3339 date-time, or left out$/, text);
    if (text !== '2027-01-31') assert.throws(() => parseTime('--expires', text, 0), { exitCode: 2 }, text);
    assert.throws(() => timeMember(member(text), 'at'), /must be a time like/, text);
  }
  const late = '+275760-09-13T00:00:00.000Z'; // what toISOString writes beyond the year 9999
  assert.equal(timeMember(member(late), 'at'), Date.parse(late));
});
