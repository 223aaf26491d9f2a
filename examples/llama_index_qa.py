"""Questions answered in LlamaIndex, over the sample corpus and without a network.

pip install 'lamar-rag[rag,embedded,llama-index]'
python examples/llama_index_qa.py "Wie viele Zeilen hat eine Seite der Gutenberg-Bibel?"
"""

import sys

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.lamar import LamarReranker

from lamar_rag import SentenceEmbedder
from lamar_rag.generation.sentence_splitting import split_sentences
from lamar_rag.sample_corpus import sample_documents

model = SentenceEmbedder("multilingual-e5-small")
reranker = LamarReranker(model="multilingual-e5-small", language_weight=0.5, top_n=3)


class E5(BaseEmbedding):
    def _get_query_embedding(self, query):
        return model.embed([query], "query")[0].tolist()

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text):
        return model.embed([text], "passage")[0].tolist()


class Quote(BaseSynthesizer):
    """Answers with the best sentence of the best node; leave it out to have `Settings.llm` write."""

    def get_response(self, query_str, text_chunks, **_):
        nodes = [NodeWithScore(node=TextNode(text=text)) for text in split_sentences(text_chunks[0])]
        return reranker.postprocess_nodes(nodes, query_str=query_str)[0].text

    async def aget_response(self, *chunks, **_):
        return self.get_response(*chunks)

    def _get_prompts(self, *_):
        return {}

    _update_prompts = _get_prompts


Settings.llm = MockLLM()  # nothing is written here
corpus = [TextNode(text=row.text, id_=row.id) for row in sample_documents()]
index = VectorStoreIndex(corpus, embed_model=E5())
engine = index.as_query_engine(
    similarity_top_k=20, node_postprocessors=[reranker], response_synthesizer=Quote()
)
for question in sys.argv[1:] or ["How deep is Lake Baikal?", "Wie tief ist das Salzbergwerk Wieliczka?"]:
    response = engine.query(question)
    print(f"{question}\n  {response} [{response.source_nodes[0].node_id}]")
