# The pet store server: docs/deploy.md says how to build and run it.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run -s build
# The driver of PostgreSQL, for --database.
RUN npm install --prefix /driver --ignore-scripts --no-audit --no-fund \
  "pg@$(node -p 'require("./package.json").peerDependencies.pg')"

FROM node:24-slim
COPY --from=build /build/dist /opt/petstore
COPY --from=build /driver/node_modules /opt/petstore/node_modules
RUN ln -s /opt/petstore/cli.js /usr/local/bin/petstore && install -d -o 1000 -g 1000 -m 700 /data
# The data folder is in the volume and not the volume itself, so that `petstore restore` can create it.
ENV HOST=0.0.0.0 DATA_DIR=/data/store
VOLUME /data
WORKDIR /data
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["node", "-e", \
  "const { HOST, PORT, TLS_CERT } = process.env;\
   const host = ['', '0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST;\
   const at = HOST.startsWith('unix:') ? { socketPath: HOST.slice(5) } : { host, port: PORT || 8080 };\
   const options = { ...at, path: '/healthz', rejectUnauthorized: false };\
   require(TLS_CERT ? 'https' : 'http').get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))"]
# Node is the first process of the container and receives its signals.
ENTRYPOINT ["petstore"]
CMD ["serve"]
