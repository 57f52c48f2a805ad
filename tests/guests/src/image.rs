//! Values laid out in a guest's memory, by the canonical ABI of the component model.

use crate::Definition;

/// The address of a guest's prepared values. Below it is scratch space for the guest's code.
pub(crate) const IMAGE: u32 = 4_096;

/// Values laid out in a guest's memory.
#[derive(Default)]
pub(crate) struct Image(Vec<u8>);

impl Image {
    /// Adds bytes at an aligned address, and gives the address.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let address = IMAGE + u32::try_from(self.0.len()).unwrap();
        self.0.extend_from_slice(bytes);
        address
    }

    /// Adds a string or a list of bytes, and returns its address and length.
    pub(crate) fn string(&mut self, bytes: &[u8]) -> [u32; 2] {
        [self.add(bytes), u32::try_from(bytes.len()).unwrap()]
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) -> [u32; 3] {
        match text {
            None => [0; 3],
            Some(text) => {
                let [address, length] = self.string(text.as_bytes());
                [1, address, length]
            }
        }
    }

    pub(crate) fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.add(&bytes)
    }

    pub(crate) fn definitions(&mut self, definitions: &[Definition]) -> u32 {
        let mut records = Vec::new();
        for definition in definitions {
            records.extend(self.string(definition.name.as_bytes()));
            records.extend(self.optional(definition.title.as_deref()));
            records.extend(self.string(definition.description.as_bytes()));
            records.extend(self.string(definition.input_schema.as_bytes()));
            records.extend(self.optional(definition.output_schema.as_deref()));
            records.push(u32::from(definition.effect));
        }
        let list = self.words(&records);
        self.words(&[list, u32::try_from(definitions.len()).unwrap()])
    }

    /// The bytes to place at [`IMAGE`].
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
