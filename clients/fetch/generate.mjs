// Generates types.ts from the document in the file argv[2], with bigint for every int64.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
const [, , document, target] = process.argv;
const nodes = await openapiTS(readFileSync(document, 'utf8'), {
  transform: (schema) => (schema.format === 'int64' ? bigint : undefined),
});
writeFileSync(target, astToString(nodes));
