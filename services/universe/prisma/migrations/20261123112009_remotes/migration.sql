-- CreateTable
CREATE TABLE "universe"."remotes" (
    "remote_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "token_ref" TEXT,
    "insecure" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "remotes_pkey" PRIMARY KEY ("remote_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "remotes_name_key" ON "universe"."remotes"("name");
